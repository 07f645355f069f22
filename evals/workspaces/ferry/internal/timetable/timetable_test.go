package timetable

import "testing"

func TestAnUnknownDayHasNoDepartures(t *testing.T) {
	var table Timetable
	if found := table.On("1999-01-01"); len(found) != 0 {
		t.Fatalf("found %d departures", len(found))
	}
}
