package carla

// EventDelList is the actors that disappeared in a frame.
type EventDelList []EventDel

// ID implements Body.
func (*EventDelList) ID(Profile) (uint8, bool) { return IDEventDel, true }

// Code implements Body.
func (l *EventDelList) Code(c *Coder) { codeList(c, (*[]EventDel)(l), 4) }

// EventDel is the id of an actor that disappeared.
type EventDel uint32

func (r *EventDel) code(c *Coder) { c.Uint32((*uint32)(r)) }
