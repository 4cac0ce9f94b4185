// Package codec defines the types through which every recording flows, whatever its format: Channel, Message, Reader
// and Writer, and the registry of formats.
//
// A program imports the formats it wants for their registration alone, opens any recording with [Open] and writes one
// with [Create]:
//
//	import _ "tapedeck/codec/record"
//
// Formats know bytes. What foreign payloads mean is the business of package bridge.
package codec
