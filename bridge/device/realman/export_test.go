package realman

import "time"

// Forget makes pushed fields too old to replace queries.
func (a *Arm) Forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fresh = time.Time{}
}
