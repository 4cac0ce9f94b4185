package carla

// Body is the typed content of a packet. All bodies of CARLA's own packets are in this package; a packet of one's own, with an
// id above 100 as CARLA advises, has a type that implements it, and is registered in Decoder.Own.
type Body interface {
	// ID returns the id of the packet in a profile; false if there is none.
	ID(Profile) (uint8, bool)
	// Code decodes or encodes the fields, in their order.
	Code(*Coder)
}
