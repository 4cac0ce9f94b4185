package recorder

import "github.com/coreos/go-systemd/v22/daemon"

// systemd tells systemd how the recorder is, if systemd has started it as a service of Type=notify.
type systemd struct{ started bool }

// alive is called every statusPace once services are offered.
func (s *systemd) alive() {
	if !s.started {
		s.started = true
		_, _ = daemon.SdNotify(false, daemon.SdNotifyReady)
	}
	_, _ = daemon.SdNotify(false, daemon.SdNotifyWatchdog)
}

// stopping is called when the recorder begins to complete its files, which may take longer than the watchdog waits.
func (systemd) stopping() { _, _ = daemon.SdNotify(false, daemon.SdNotifyStopping) }
