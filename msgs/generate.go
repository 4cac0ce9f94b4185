package msgs

//go:generate go run ./rosidl/gen
