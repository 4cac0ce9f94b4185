package store

import "time"

// Hurry has requests repeated after hardly any pause.
func (f *Files) Hurry() { f.cache.pause = time.Millisecond }

// LimitCache has the cache hold so many bytes.
func (f *Files) LimitCache(bytes int64) { f.cache.limit = bytes }
