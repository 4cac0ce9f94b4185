package store

import "time"

// Hurry makes files repeat requests after a minimal pause.
func (f *Files) Hurry() { f.cache.pause = time.Millisecond }

// LimitCache sets the size of the cache in bytes.
func (f *Files) LimitCache(bytes int64) { f.cache.limit = bytes }
