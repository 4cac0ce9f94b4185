package msgs

//go:generate go run ./gen
