package carla

// Vector has three components, in Unreal Engine's axes: x forward, y to the right, z up. A rotation in it is roll, pitch and
// yaw. Values that a file has with 4 bytes are exact.
type Vector struct{ X, Y, Z float64 }
