package dds

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"mime"
	"net/mail"
)

// Object identifiers of PKCS #7 and of the algorithms that OpenSSL signs with.
var (
	oidMessageDigest = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 4}

	digests = map[string]struct {
		hash       crypto.Hash
		rsa, ecdsa x509.SignatureAlgorithm
	}{
		"1.3.14.3.2.26":          {crypto.SHA1, x509.SHA1WithRSA, x509.ECDSAWithSHA1},
		"2.16.840.1.101.3.4.2.1": {crypto.SHA256, x509.SHA256WithRSA, x509.ECDSAWithSHA256},
		"2.16.840.1.101.3.4.2.2": {crypto.SHA384, x509.SHA384WithRSA, x509.ECDSAWithSHA384},
		"2.16.840.1.101.3.4.2.3": {crypto.SHA512, x509.SHA512WithRSA, x509.ECDSAWithSHA512},
	}
)

// signedData is SignedData of PKCS #7 (RFC 2315, section 9).
type signedData struct {
	Type    asn1.ObjectIdentifier
	Content struct {
		Version int
		Digests asn1.RawValue
		Inner   asn1.RawValue
		Certs   asn1.RawValue `asn1:"optional,tag:0"`
		CRLs    asn1.RawValue `asn1:"optional,tag:1"`
		Signers []signer      `asn1:"set"`
	} `asn1:"explicit,tag:0"`
}

type signer struct {
	Version int
	Issuer  struct {
		Name   asn1.RawValue
		Serial *big.Int
	}
	Digest struct {
		Algorithm asn1.ObjectIdentifier
		Rest      asn1.RawValue `asn1:"optional"`
	}
	Attributes asn1.RawValue `asn1:"optional,tag:0"`
	Signing    asn1.RawValue
	Signature  []byte
	Unsigned   asn1.RawValue `asn1:"optional,tag:1"`
}

// errOtherForm is returned for signed documents in a form that Cyclone DDS may know, but this package does not.
var errOtherForm = errors.New("not a text with a detached signature (openssl smime -sign -text)")

// openSigned returns the text of a signed document. If ca did not sign it, or it was changed since, it also returns an
// error.
func openSigned(document []byte, ca *x509.Certificate) (text []byte, err error) {
	document = bytes.ReplaceAll(document, []byte("\r\n"), []byte("\n"))
	m, err := mail.ReadMessage(bytes.NewReader(document))
	if err != nil {
		return nil, errOtherForm
	}
	kind, params, _ := mime.ParseMediaType(m.Header.Get("Content-Type"))
	parts := bytes.Split(document, []byte("\n--"+params["boundary"]))
	if kind != "multipart/signed" || len(parts) != 4 {
		return nil, errOtherForm
	}
	part, encoded := bytes.TrimPrefix(parts[1], []byte("\n")), parts[2]
	if _, text, _ = bytes.Cut(part, []byte("\n\n")); text == nil {
		return nil, errOtherForm
	}
	_, encoded, _ = bytes.Cut(encoded, []byte("\n\n"))
	der, err := base64.StdEncoding.DecodeString(string(bytes.ReplaceAll(encoded, []byte("\n"), nil)))
	if err != nil {
		return text, fmt.Errorf("the signature cannot be read: %w", err)
	}
	var data signedData
	if _, err := asn1.Unmarshal(der, &data); err != nil {
		return text, fmt.Errorf("the signature cannot be read: %w", err)
	}
	part = bytes.ReplaceAll(part, []byte("\n"), []byte("\r\n"))
	err = errors.New("it is not signed")
	for i := range data.Content.Signers {
		if err = data.Content.Signers[i].verify(part, ca); err == nil {
			break
		}
	}
	return text, err
}

// verify returns an error unless ca signed content.
func (s *signer) verify(content []byte, ca *x509.Certificate) error {
	digest, known := digests[s.Digest.Algorithm.String()]
	if !known {
		return fmt.Errorf("the signature has the unknown digest %v", s.Digest.Algorithm)
	}
	algorithm := digest.ecdsa
	if ca.PublicKeyAlgorithm == x509.RSA {
		algorithm = digest.rsa
	}
	if len(s.Attributes.FullBytes) > 0 {
		hash := digest.hash.New()
		hash.Write(content)
		if !bytes.Equal(s.messageDigest(), hash.Sum(nil)) {
			return errors.New("it was changed after it was signed")
		}
		content = append([]byte{asn1.TagSet | 0x20}, s.Attributes.FullBytes[1:]...)
	}
	if err := ca.CheckSignature(algorithm, content, s.Signature); err != nil {
		return errors.New("it was not signed by that CA")
	}
	return nil
}

// messageDigest returns the digest among the signed attributes.
func (s *signer) messageDigest() []byte {
	for rest := s.Attributes.Bytes; len(rest) > 0; {
		var a struct {
			Type   asn1.ObjectIdentifier
			Values []asn1.RawValue `asn1:"set"`
		}
		var err error
		if rest, err = asn1.Unmarshal(rest, &a); err != nil {
			return nil
		}
		if a.Type.Equal(oidMessageDigest) && len(a.Values) == 1 {
			return a.Values[0].Bytes
		}
	}
	return nil
}
