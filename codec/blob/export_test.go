package blob

// SetPartSize has larger files sent in parts of so many bytes.
func (u *Uploader) SetPartSize(bytes int64) { u.part = bytes }
