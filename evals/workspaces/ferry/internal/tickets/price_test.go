package tickets

import "testing"

func TestAFamilyPaysForEachOne(t *testing.T) {
	if price := Price(Order{Adults: 2, Children: 1}); price != 3100 {
		t.Fatalf("price is %d", price)
	}
}
