package mavlink

// Counts are frames and bytes since the link was opened.
type Counts struct {
	Received   uint64 // frames
	Bytes      uint64 // of these frames
	Lost       uint64 // frames, by gaps in the sequence
	Duplicates uint64 // frames whose sequence number was there already
	Reordered  uint64 // frames that came late
	Restarts   uint64 // sequences that began anew: a reboot, or a silence after which losses cannot be counted

	// Over the last ten seconds.
	Rate     float64 // frames per second
	ByteRate float64 // bytes per second
	Quality  float64 // percent of frames that were not lost; 100 if there were none at all
}

// ComponentStatistics are the counts of one component of a system.
type ComponentStatistics struct {
	System    uint8
	Component uint8
	Counts
}

// Statistics are what a Link saw since it was opened: a copy, for diagnostics.
type Statistics struct {
	Counts     // of all components
	Components []ComponentStatistics

	BadChecksum uint64            // frames
	Garbage     uint64            // bytes that belong to no frame
	Unknown     uint64            // frames whose message id is not in the dialect
	UnknownIDs  map[uint32]uint64 // the same by message id
	Refused     uint64            // frames without the signature that Options.VerifyKey asks for
	Dropped     uint64            // frames that the handler was too slow for
	Connected   int               // open ports and connections
	Reconnects  uint64            // ports and connections that were opened again
}
