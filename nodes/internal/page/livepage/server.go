// Package livepage serves the page of package report while a recording is played or made.
//
// Only requests with the token of a Server are answered. The address of the page has the token, and the page sends it
// in a header of each request. Pages of other sites cannot read the token, and browsers do not add the header to their
// requests. Host and Origin are also checked, against attacks with DNS names that resolve to this machine.
package livepage

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/netutil"

	"tapedeck/nodes/internal/page/report"
)

// Backend is the player or recorder behind a page. Several goroutines call its methods concurrently.
type Backend interface {
	// Update returns the changes since the Update with a version, and everything for "".
	Update(version string) (*Update, error)
	// Do carries out a command.
	Do(ctx context.Context, c Command) error
}

// Update updates a page.
type Update struct {
	Version    string          `json:"version"`
	State      State           `json:"state"`
	Recordings json.RawMessage `json:"recordings,omitempty"` // list of report.Data that replaces the data of the page
	Growth     json.RawMessage `json:"growth,omitempty"`     // report.Growth of the only recording
}

// State is the state of a player or a recorder.
type State struct {
	Word   string    `json:"word"` // state as on the terminal, such as "PLAYING"
	Text   string    `json:"text"` // status line as on the terminal
	Alert  string    `json:"alert"`
	Paused bool      `json:"paused"`
	Rate   float64   `json:"rate"` // recorded seconds per second; 0: as fast as possible
	At     []float64 `json:"at"`   // position in each recording, s since its start
}

// Command is the command of a button.
type Command struct {
	Name      string  `json:"name"`
	Recording int     `json:"recording"` // index of the recording if Value is a time in it
	Value     float64 `json:"value"`
}

const (
	mostConnections = 64
	mostHeader      = 16 << 10         // bytes of the headers of a request
	mostCommand     = 1 << 10          // bytes of a command
	patience        = 30 * time.Second // time limit for reading, writing and idling
)

// Server serves a page.
type Server struct {
	URL string // URL of the page, with the token

	token   string
	backend Backend
	page    []byte
	http    http.Server
}

// Listen listens on an address. ":8080" can be reached only from this machine, "0.0.0.0:8080" also from others.
// Connections wait for Serve.
func Listen(address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("page: %w; want :PORT or ADDRESS:PORT", err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	return listener, nil
}

// Serve serves the page of a backend. It owns the listener. kind selects the buttons of the page: "player", "recorder",
// or "snapshots" for a recorder that takes snapshots.
func Serve(listener net.Listener, kind string, backend Backend) (*Server, error) {
	s := &Server{token: rand.Text(), backend: backend}
	var err error
	s.page, err = report.LivePage(kind)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	address := listener.Addr().(*net.TCPAddr)
	host := address.IP.String()
	if address.IP.IsUnspecified() {
		host, err = os.Hostname()
		if err != nil {
			host = "localhost"
		}
	}
	s.URL = fmt.Sprintf("http://%s/?token=%s", net.JoinHostPort(host, strconv.Itoa(address.Port)), s.token)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.servePage)
	mux.HandleFunc("GET /update", s.serveUpdate)
	mux.HandleFunc("POST /do", s.serveCommand)
	s.http = http.Server{Handler: s.guard(mux), ReadTimeout: patience, WriteTimeout: patience, IdleTimeout: patience,
		MaxHeaderBytes: mostHeader, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = s.http.Serve(netutil.LimitListener(listener, mostConnections)) }() // until Close
	return s, nil
}

// Close ends the server and its connections.
func (s *Server) Close() error {
	if s == nil {
		return nil
	}
	return s.http.Close()
}

// guard passes on requests with the token, and rejects others.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
			"Content-Security-Policy": "frame-ancestors 'none'", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			w.Header().Set(name, value)
		}
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if r.URL.Path == "/" {
			token = r.URL.Query().Get("token")
		}
		origin := r.Header.Get("Origin")
		if !knownHost(r.Host) || origin != "" && origin != "http://"+r.Host ||
			subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1 {
			http.Error(w, "open the address that the program has printed, with its token", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// knownHost reports whether a request was sent to an IP address, or to a name of this machine.
func knownHost(hostport string) bool {
	u := url.URL{Host: hostport}
	host := strings.ToLower(u.Hostname())
	if _, err := netip.ParseAddr(host); err == nil || host == "localhost" {
		return true
	}
	name, err := os.Hostname()
	name = strings.ToLower(name)
	return err == nil && name != "" && (host == name || host == name+".local")
}

func (s *Server) servePage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(s.page) // fails if the browser has gone
}

func (s *Server) serveUpdate(w http.ResponseWriter, r *http.Request) {
	update, err := s.backend.Update(r.URL.Query().Get("version"))
	var body []byte
	if err == nil {
		body, err = json.Marshal(update)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

func (s *Server) serveCommand(w http.ResponseWriter, r *http.Request) {
	var c Command
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostCommand)).Decode(&c); err != nil {
		http.Error(w, "a command is JSON: "+err.Error(), http.StatusBadRequest)
		return
	}
	if err := s.backend.Do(r.Context(), c); err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
	}
}

// ErrUnknown is returned by Backend.Do for unknown commands.
var ErrUnknown = errors.New("no such command")
