package server

// windLimit is the wind, in metres per second, at which no boat leaves.
// The reasons are in docs/decisions/0002-wind-limit.md.
const windLimit = 17.0

// maxBody is how many bytes an order may have.
const maxBody = 64 << 10
