// Command ferryd serves the timetable and sells tickets.
package main

import (
	"flag"
	"log"
	"net/http"
	"time"

	"example.test/ferry/internal/server"
)

// shutdownGrace is how long running requests may take when the service stops.
const shutdownGrace = 12 * time.Second

func main() {
	config := flag.String("config", "configs/harbour.yaml", "file with the settings")
	flag.Parse()

	app, err := server.Load(*config)
	if err != nil {
		log.Fatalf("cannot start: %v", err)
	}
	app.Grace = shutdownGrace
	log.Printf("listening on %s", app.Address)
	log.Fatal(http.ListenAndServe(app.Address, app.Routes()))
}
