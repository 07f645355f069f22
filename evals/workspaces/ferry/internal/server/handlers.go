package server

import (
	"encoding/json"
	"errors"
	"net/http"

	"example.test/ferry/internal/tickets"
)

func (s *Server) listDepartures(w http.ResponseWriter, r *http.Request) {
	day := r.URL.Query().Get("day")
	departures := s.Timetable.On(day)
	// TODO: leave out departures that are full.
	writeJSON(w, http.StatusOK, departures)
}

func (s *Server) sellTicket(w http.ResponseWriter, r *http.Request) {
	var order tickets.Order
	if err := json.NewDecoder(r.Body).Decode(&order); err != nil {
		http.Error(w, "the order is not JSON", http.StatusBadRequest)
		return
	}
	ticket, err := s.Office.Sell(order)
	if errors.Is(err, tickets.ErrSoldOut) {
		http.Error(w, "no seats left", http.StatusConflict)
		return
	}
	writeJSON(w, http.StatusCreated, ticket)
}

func (s *Server) refundTicket(w http.ResponseWriter, r *http.Request) {
	// TODO: refunds after departure need a reason.
	s.Office.Refund(r.PathValue("number"))
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) showStatus(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, map[string]bool{"sailing": s.Forecast.Wind() < windLimit})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}
