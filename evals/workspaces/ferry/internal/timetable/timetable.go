// Package timetable knows when which boat leaves.
package timetable

import (
	"sort"
	"time"
)

// Departure is one boat leaving one pier.
type Departure struct {
	Route string    `json:"route"`
	Boat  string    `json:"boat"`
	Leaves time.Time `json:"leaves"`
}

// Timetable holds all departures.
type Timetable struct {
	departures []Departure
}

// On returns the departures of a day, the earliest first.
func (t *Timetable) On(day string) []Departure {
	var found []Departure
	for _, departure := range t.departures {
		if departure.Leaves.Format(time.DateOnly) == day {
			found = append(found, departure)
		}
	}
	sort.Slice(found, func(a, b int) bool { return found[a].Leaves.Before(found[b].Leaves) })
	return found
}

// NextAfter returns the first departure of a route after a time.
func (t *Timetable) NextAfter(route string, when time.Time) (Departure, bool) {
	for _, departure := range t.departures {
		if departure.Route == route && departure.Leaves.After(when) {
			return departure, true
		}
	}
	return Departure{}, false
}
