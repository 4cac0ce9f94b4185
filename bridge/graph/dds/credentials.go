package dds

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tapedeck/bridge"
)

// credentials are the files of an enclave. Cyclone DDS checks them, but not whether private key and certificate belong
// together.
type credentials struct {
	folder string

	expiring string // path of the certificate or permissions, whichever expires first; "": unknown
	expires  time.Time
}

func (c *credentials) path(name string) string { return filepath.Join(c.folder, name) }

// check returns an error if certificate and private key do not belong together: no peer would talk to the node. It sets
// expiring and expires.
func (c *credentials) check() error {
	certificate, key := c.path(bridge.CertificateFile), c.path(bridge.PrivateKeyFile)
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return fmt.Errorf("security: %s with %s: %w", certificate, key, err)
	}
	c.expiring, c.expires = certificate, pair.Leaf.NotAfter
	if end := c.permissionsEnd(pair.Leaf); !end.IsZero() && end.Before(c.expires) {
		c.expiring, c.expires = c.path(bridge.PermissionsFile), end
	}
	return nil
}

// permissionsEnd returns the time at which the permissions of a certificate's subject expire; zero if it is unknown.
func (c *credentials) permissionsEnd(certificate *x509.Certificate) time.Time {
	document, err := os.ReadFile(c.path(bridge.PermissionsFile))
	start := bytes.Index(document, []byte("<dds"))
	if err != nil || start < 0 {
		return time.Time{}
	}
	var permissions struct {
		Grants []struct {
			Subject  string `xml:"subject_name"`
			NotAfter string `xml:"validity>not_after"`
		} `xml:"permissions>grant"`
	}
	// The decoder ends at the root's end, where the signature begins.
	if err := xml.NewDecoder(bytes.NewReader(document[start:])).Decode(&permissions); err != nil {
		return time.Time{}
	}
	for _, g := range permissions.Grants {
		if !slices.Equal(names(g.Subject), names(certificate.Subject.String())) {
			continue
		}
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05"} { // UTC without a zone
			if end, err := time.Parse(layout, strings.TrimSpace(g.NotAfter)); err == nil {
				return end
			}
		}
	}
	return time.Time{}
}

// names returns the parts of a subject as Cyclone DDS compares them.
func names(subject string) []string {
	list := strings.FieldsFunc(subject, func(r rune) bool { return strings.ContainsRune(",/|+ ", r) })
	slices.Sort(list)
	return list
}

// refused returns the error for a log of Cyclone DDS about the files. It names the files that may be wrong.
func (c *credentials) refused(log string) error {
	log = strings.ReplaceAll(strings.TrimSpace(log), "\n", "; ")
	for _, cause := range []struct {
		word  string // in the log
		files []string
	}{
		{"PKCS7", []string{bridge.GovernanceFile, bridge.PermissionsFile, bridge.PermissionsCAFile}},
		{"overnance", []string{bridge.GovernanceFile}},
		{"CRL", []string{bridge.RevocationFile}},
		{"revoked", []string{bridge.CertificateFile, bridge.RevocationFile}},
		{"ertificate", []string{bridge.CertificateFile, bridge.IdentityCAFile}},
		{"ermissions", []string{bridge.PermissionsFile, bridge.CertificateFile}},
	} {
		if strings.Contains(log, cause.word) {
			return fmt.Errorf("security: Cyclone DDS refuses %s in %s: %s", strings.Join(cause.files, ", "), c.folder,
				log)
		}
	}
	return fmt.Errorf("security: Cyclone DDS refuses the keys in %s: %s", c.folder, log)
}
