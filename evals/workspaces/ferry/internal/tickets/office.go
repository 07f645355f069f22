// Package tickets sells tickets and takes them back.
package tickets

import "errors"

// ErrSoldOut says that a departure has no seats left.
var ErrSoldOut = errors.New("sold out")

// holdMinutes is how long an unpaid ticket is kept.
const holdMinutes = 25

// Order is what a passenger asks for.
type Order struct {
	Departure string `json:"departure"`
	Adults    int    `json:"adults"`
	Children  int    `json:"children"`
	Bicycles  int    `json:"bicycles"`
	Dogs      int    `json:"dogs"`
}

// Ticket is an order that was accepted.
type Ticket struct {
	Number string `json:"number"`
	Cents  int    `json:"cents"`
}

// Office sells tickets.
type Office struct {
	seats map[string]int
}

// Sell takes seats and returns the ticket.
func (o *Office) Sell(order Order) (Ticket, error) {
	wanted := order.Adults + order.Children
	if o.seats[order.Departure] < wanted {
		return Ticket{}, ErrSoldOut
	}
	o.seats[order.Departure] -= wanted
	return Ticket{Number: newNumber(), Cents: Price(order)}, nil
}

// Refund gives the seats back.
func (o *Office) Refund(number string) {
	// TODO: remember which departure the ticket was for.
}
