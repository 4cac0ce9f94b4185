package v4l2

// AddHuffmanTables returns a JPEG picture that any decoder takes. Cameras that send Motion-JPEG leave out the Huffman tables, or some of
// them, when they use those of ITU-T T.81 annex K.3, and decoders refuse such pictures. A picture that has tables is returned as it is;
// otherwise one with the tables is appended to buffer[:0] and returned. What is not a JPEG picture is returned as it is.
func AddHuffmanTables(buffer, jpeg []byte) []byte { panic("not yet written") }

// TrimJPEG returns a JPEG picture without what follows its end: cameras pad frames. A picture without an end is returned as it is.
func TrimJPEG(jpeg []byte) []byte { panic("not yet written") }
