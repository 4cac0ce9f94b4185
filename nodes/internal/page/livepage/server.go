// Package livepage serves the page of package report while a recording is played or made.
//
// Whoever has the token of a Server may see and do what its page can; nobody else may do anything. The page's address
// has the token, and the page sends it in a header with each request: no other page can read it, and a browser sends
// that header to no other page's request. Host and Origin are checked too, against names that were made to lead here.
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

// Source is what a page shows and controls. Its methods are called by several goroutines at once.
type Source interface {
	// Update returns what a page lacks that has what the Update of that version brought it, "" for nothing.
	Update(version string) (*Update, error)
	// Do does what a button of the page asks for.
	Do(ctx context.Context, c Command) error
}

// Update is what a page is sent.
type Update struct {
	Version    string          `json:"version"`
	State      State           `json:"state"`
	Recordings json.RawMessage `json:"recordings,omitempty"` // in place of all that the page has: a list of report.Data
	Growth     json.RawMessage `json:"growth,omitempty"`     // of the only recording: report.Growth
}

// State is what a player or a recorder does.
type State struct {
	Word   string    `json:"word"` // as on the terminal: "PLAYING"
	Text   string    `json:"text"` // further
	Alert  string    `json:"alert"`
	Paused bool      `json:"paused"`
	Rate   float64   `json:"rate"` // recorded seconds a second; 0: as many as possible
	At     []float64 `json:"at"`   // where it is in each recording, s since its start
}

// Command is what a button asks for.
type Command struct {
	Name      string  `json:"name"`
	Recording int     `json:"recording"` // that Value is a time of
	Value     float64 `json:"value"`
}

const (
	mostConnections = 64
	mostHeader      = 16 << 10 // bytes
	mostCommand     = 1 << 10  // bytes
	patience        = 30 * time.Second
)

// Server serves a page.
type Server struct {
	URL string // of the page, with the token

	token  string
	source Source
	page   []byte
	http   http.Server
}

// Listen takes an address such as ":8080", which is that port of this machine only, or "0.0.0.0:8080", which others can
// reach. Connections wait for Serve.
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

// Serve serves the page of a source. It owns the listener. kind says which buttons the page has: "player", "recorder",
// or "snapshots" for a recorder that takes them.
func Serve(listener net.Listener, kind string, source Source) (*Server, error) {
	s := &Server{token: rand.Text(), source: source}
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

// Close ends the server, and its connections.
func (s *Server) Close() error {
	if s == nil {
		return nil
	}
	return s.http.Close()
}

// guard passes on the requests of whoever has the token.
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

// knownHost reports whether a request was sent to an address, or to a name that cannot be anybody else's.
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
	_, _ = w.Write(s.page) // an error is the browser's
}

func (s *Server) serveUpdate(w http.ResponseWriter, r *http.Request) {
	update, err := s.source.Update(r.URL.Query().Get("version"))
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
	if err := s.source.Do(r.Context(), c); err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
	}
}

// ErrUnknown is what Do returns for a command that the source does not have.
var ErrUnknown = errors.New("no such command")
