package realman

import "time"

// Forget has what was pushed be so long ago that it is asked for.
func (a *Arm) Forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fresh = time.Time{}
}
