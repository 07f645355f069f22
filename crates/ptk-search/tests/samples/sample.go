package main

import "fmt"

// Limit is how many.
const Limit = 3

// Reader reads.
type Reader struct {
	name string
}

type Source interface {
	Next() string
}

// Next gives the next one.
func (r *Reader) Next() string {
	return r.name
}

func main() {
	fmt.Println(Limit)
}
