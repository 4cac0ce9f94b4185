package main

// pause has what is received from now on not recorded. Subscriptions, and the messages kept for snapshots, go on.
func (r *recorder) pause() { r.pausing.Store(true) }

// resume records again what is received.
func (r *recorder) resume() { r.pausing.Store(false) }

func (r *recorder) paused() bool { return r.pausing.Load() }
