// Package server ties the parts together and answers requests.
package server

import (
	"time"

	"example.test/ferry/internal/tickets"
	"example.test/ferry/internal/timetable"
	"example.test/ferry/internal/weather"
	"example.test/router"
)

// Server is the running service.
type Server struct {
	Address   string
	Grace     time.Duration
	Timetable *timetable.Timetable
	Office    *tickets.Office
	Forecast  weather.Source
}

// Routes says which path is answered by which handler.
func (s *Server) Routes() *router.Router {
	r := router.New()
	r.Get("/departures", s.listDepartures)
	r.Post("/tickets", s.sellTicket)
	r.Delete("/tickets/{number}", s.refundTicket)
	r.Get("/status", s.showStatus)
	return r
}
