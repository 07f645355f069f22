// Package weather asks the buoy at the pier for the wind.
package weather

import "time"

// refresh is how often the buoy is asked.
const refresh = 90 * time.Second

// Source knows the wind.
type Source interface {
	// Wind is the wind now, in metres per second.
	Wind() float64
}

// Buoy is the buoy at the north pier.
type Buoy struct {
	Address string
	last    float64
}

// Wind returns what the buoy said last.
func (b *Buoy) Wind() float64 {
	return b.last
}
