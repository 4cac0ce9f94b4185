package dds

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tapedeck/bridge"
)

// credentials are the files of an enclave. Cyclone DDS checks them, too, but says little about what is wrong.
type credentials struct {
	folder      string
	now         time.Time
	certificate *x509.Certificate

	expiring string // the file that expires first, of those with which the node ends
	expires  time.Time
}

func (c *credentials) path(name string) string { return filepath.Join(c.folder, name) }

// check returns an error that names the file that is wrong, nil if nothing is.
func (c *credentials) check(domain int) error {
	identityCA, err := c.readCertificate(bridge.IdentityCAFile)
	if err == nil {
		c.certificate, err = c.readCertificate(bridge.CertificateFile)
	}
	if err == nil {
		err = c.checkCertificate(identityCA)
	}
	if err == nil {
		err = c.checkRevocations(identityCA)
	}
	if err != nil {
		return err
	}
	permissionsCA, err := c.readCertificate(bridge.PermissionsCAFile)
	if err != nil {
		return err
	}
	governance, err := c.readSigned(bridge.GovernanceFile, permissionsCA)
	if err == nil {
		err = c.checkDomain(governance, domain)
	}
	if err != nil {
		return err
	}
	permissions, err := c.readSigned(bridge.PermissionsFile, permissionsCA)
	if err != nil {
		return err
	}
	g, err := c.grant(permissions)
	if err != nil {
		return err
	}
	return c.checkTime(bridge.PermissionsFile, g.notBefore, g.notAfter)
}

func (c *credentials) readPEM(name, kind string) ([]byte, error) {
	text, err := os.ReadFile(c.path(name))
	if err != nil {
		return nil, err
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if strings.HasSuffix(block.Type, kind) {
			return block.Bytes, nil
		}
	}
	return nil, fmt.Errorf("%s holds no PEM block %q", c.path(name), kind)
}

func (c *credentials) readCertificate(name string) (*x509.Certificate, error) {
	der, err := c.readPEM(name, "CERTIFICATE")
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.path(name), err)
	}
	return certificate, nil
}

// checkTime returns an error if a file is not valid now.
func (c *credentials) checkTime(name string, from, to time.Time) error {
	ends := name == bridge.CertificateFile || name == bridge.PermissionsFile // with which Cyclone DDS ends the node
	if ends && (c.expiring == "" || to.Before(c.expires)) {
		c.expiring, c.expires = c.path(name), to
	}
	const layout = "2006-01-02 15:04:05 MST"
	switch {
	case c.now.After(to):
		return fmt.Errorf("%s expired at %s", c.path(name), to.UTC().Format(layout))
	case c.now.Before(from):
		return fmt.Errorf("%s is valid only from %s on; is the clock right?", c.path(name), from.UTC().Format(layout))
	}
	return nil
}

func (c *credentials) checkCertificate(ca *x509.Certificate) error {
	path, caPath := c.path(bridge.CertificateFile), c.path(bridge.IdentityCAFile)
	if err := ca.CheckSignature(c.certificate.SignatureAlgorithm, c.certificate.RawTBSCertificate,
		c.certificate.Signature); err != nil {
		return fmt.Errorf("%s was not signed by the CA of %s", path, caPath)
	}
	if err := cmp.Or(
		c.checkTime(bridge.IdentityCAFile, ca.NotBefore, ca.NotAfter),
		c.checkTime(bridge.CertificateFile, c.certificate.NotBefore, c.certificate.NotAfter),
	); err != nil {
		return err
	}
	switch key := c.certificate.PublicKey.(type) {
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() {
			return nil
		}
	case *rsa.PublicKey:
		if key.N.BitLen() == 2048 {
			return nil
		}
	}
	return fmt.Errorf("%s has a key that DDS security does not take; it takes keys of the curve P-256, and RSA with "+
		"2048 bits", path)
}

// checkPrivateKey, after check, finds what Cyclone DDS does not: that the key is that of another certificate. Nobody
// would talk to the node.
func (c *credentials) checkPrivateKey() error {
	path := c.path(bridge.PrivateKeyFile)
	der, err := c.readPEM(bridge.PrivateKeyFile, "PRIVATE KEY")
	if err != nil {
		return err
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		var ec *ecdsa.PrivateKey
		if ec, err = x509.ParseECPrivateKey(der); err == nil {
			key = ec
		} else if key, err = x509.ParsePKCS1PrivateKey(der); err != nil {
			return fmt.Errorf("%s holds no private key without a password", path)
		}
	}
	own, isKey := c.certificate.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	private, isPrivate := key.(crypto.Signer)
	if isKey && isPrivate && !own.Equal(private.Public()) {
		return fmt.Errorf("%s is not the key of %s", path, c.path(bridge.CertificateFile))
	}
	return nil
}

func (c *credentials) checkRevocations(ca *x509.Certificate) error {
	path := c.path(bridge.RevocationFile)
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	der, err := c.readPEM(bridge.RevocationFile, "CRL")
	var list *x509.RevocationList
	if err == nil {
		list, err = x509.ParseRevocationList(der)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := ca.CheckSignature(list.SignatureAlgorithm, list.RawTBSRevocationList, list.Signature); err != nil {
		return fmt.Errorf("%s was not signed by the CA of %s", path, c.path(bridge.IdentityCAFile))
	}
	until := list.NextUpdate
	if until.IsZero() { // it does not expire
		until = c.now
	}
	if err := c.checkTime(bridge.RevocationFile, list.ThisUpdate, until); err != nil {
		return err
	}
	if slices.ContainsFunc(list.RevokedCertificateEntries, func(e x509.RevocationListEntry) bool {
		return e.SerialNumber.Cmp(c.certificate.SerialNumber) == 0
	}) {
		return fmt.Errorf("%s was revoked by %s", c.path(bridge.CertificateFile), path)
	}
	return nil
}

func (c *credentials) readSigned(name string, ca *x509.Certificate) ([]byte, error) {
	document, err := os.ReadFile(c.path(name))
	if err != nil {
		return nil, err
	}
	text, err := openSigned(document, ca)
	if err != nil {
		return nil, fmt.Errorf("%s: %w (%s)", c.path(name), err, c.path(bridge.PermissionsCAFile))
	}
	return text, nil
}

// elements calls f with the path, in lower case, and the text of each element of a document, as it ends.
func elements(document []byte, f func(path, text string)) error {
	var path []string
	var text strings.Builder
	d := xml.NewDecoder(bytes.NewReader(document))
	for {
		token, err := d.RawToken()
		if len(path) == 0 && err != nil {
			return nil // at its end, or where the signature begins
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			path = append(path, strings.ToLower(t.Name.Local))
			text.Reset()
		case xml.CharData:
			text.Write(t)
		case xml.EndElement:
			if len(path) == 0 {
				return errors.New("an element ends that did not begin")
			}
			f(strings.Join(path, "/"), strings.TrimSpace(text.String()))
			path = path[:len(path)-1]
			text.Reset()
		}
	}
}

// checkDomain returns an error if the governance has no rule for a domain.
func (c *credentials) checkDomain(governance []byte, domain int) error {
	const rule = "dds/domain_access_rules/domain_rule/domains/"
	var ranges [][2]int
	err := elements(governance, func(path, text string) {
		n, _ := strconv.Atoi(text)
		switch strings.TrimPrefix(path, rule) {
		case "id":
			ranges = append(ranges, [2]int{n, n})
		case "id_range/min":
			ranges = append(ranges, [2]int{n, 232})
		case "id_range/max":
			if len(ranges) == 0 {
				ranges = append(ranges, [2]int{})
			}
			ranges[len(ranges)-1][1] = n
		}
	})
	if err != nil {
		return fmt.Errorf("%s: %w", c.path(bridge.GovernanceFile), err)
	}
	if !slices.ContainsFunc(ranges, func(r [2]int) bool { return r[0] <= domain && domain <= r[1] }) {
		return fmt.Errorf("%s has no rule for the domain %d (ROS_DOMAIN_ID), but for domains from and to %v; create "+
			"the keystore with that ROS_DOMAIN_ID", c.path(bridge.GovernanceFile), domain, ranges)
	}
	return nil
}

// grant is what permissions say of a subject.
type grant struct {
	subject             string
	notBefore, notAfter time.Time
}

// grant returns the grant of the certificate's subject.
func (c *credentials) grant(permissions []byte) (own grant, err error) {
	path := c.path(bridge.PermissionsFile)
	var grants []grant
	var g grant
	var bad error
	err = elements(permissions, func(path, text string) {
		var err error
		switch strings.TrimPrefix(path, "dds/permissions/grant") {
		case "/subject_name":
			g.subject = text
		case "/validity/not_before":
			g.notBefore, err = parseTime(text)
		case "/validity/not_after":
			g.notAfter, err = parseTime(text)
		case "":
			grants, g = append(grants, g), grant{}
		}
		bad = cmp.Or(bad, err)
	})
	if err = cmp.Or(err, bad); err != nil {
		return own, fmt.Errorf("%s: %w", path, err)
	}
	subject := c.certificate.Subject.String()
	var others []string
	for _, g := range grants {
		if slices.Equal(names(g.subject), names(subject)) {
			return g, nil
		}
		others = append(others, g.subject)
	}
	return own, fmt.Errorf("%s grants nothing to %s, the subject of %s, but to %s", path, subject,
		c.path(bridge.CertificateFile), strings.Join(others, ", "))
}

// names returns the parts of a subject as Cyclone DDS compares them.
func names(subject string) []string {
	list := strings.FieldsFunc(subject, func(r rune) bool { return strings.ContainsRune(",/|+ ", r) })
	slices.Sort(list)
	return list
}

// parseTime reads a time of permissions: without a zone it is UTC.
func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time, want one such as 2026-01-31T12:00:00", text)
}
