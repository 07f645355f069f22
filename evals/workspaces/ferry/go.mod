module example.test/ferry

go 1.22

require (
	example.test/router v1.4.2
	example.test/sqlite v0.9.1
)
