package tickets

// Prices in cents.
const (
	adultFare   = 1250
	childFare   = 600
	bicycleFare = 350
	dogFare     = 200
)

// groupSize is how many adults make a group.
const groupSize = 8

// groupDiscount is what a group saves, in percent.
const groupDiscount = 15

// Price adds up an order, in cents.
func Price(order Order) int {
	adults := order.Adults * adultFare
	if order.Adults >= groupSize {
		adults -= adults * groupDiscount / 100
	}
	return adults + order.Children*childFare + order.Bicycles*bicycleFare + order.Dogs*dogFare
}
