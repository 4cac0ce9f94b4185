package carla

// TriggerVolumeList is the volumes that trigger the lights and signs which appeared in a frame; only with additional data.
type TriggerVolumeList []BoundingBox

// ID implements Body.
func (*TriggerVolumeList) ID(Profile) (uint8, bool) { return IDTriggerVolume, true }

// Code implements Body.
func (l *TriggerVolumeList) Code(c *Coder) { codeList(c, (*[]BoundingBox)(l), 4+2*c.vectorSize()) }
