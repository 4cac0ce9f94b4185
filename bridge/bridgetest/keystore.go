package bridgetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Keystore is a keystore of SROS 2. It has the files that `ros2 security` would make. openssl makes them.
type Keystore struct {
	t      testing.TB
	Path   string // ROS_SECURITY_KEYSTORE
	domain int
}

// Enclave describes the certificate and the permissions of an enclave.
type Enclave struct {
	Subject  string    // common name in the permissions; "": the name of the enclave
	Topics   []string  // DDS topics to publish and subscribe to; nil: the topics of all ROS topics and services
	Days     int       // validity of the certificate in days; 0: 10 years, negative: expired
	NotAfter time.Time // end of the permissions; zero: in 10 years
}

// NewKeystore makes a keystore for a domain, with the governance of sros2. It skips the test if openssl is missing.
func NewKeystore(t testing.TB, domain int) *Keystore {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not installed")
	}
	k := &Keystore{t: t, Path: t.TempDir(), domain: domain}
	require.NoError(t, os.Mkdir(k.file("enclaves"), 0o755))
	k.openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", k.file("ca.key.pem"))
	k.openssl("req", "-x509", "-new", "-key", k.file("ca.key.pem"), "-sha256", "-days", "3650", "-subj", "/CN=sros2CA",
		"-addext", "basicConstraints=critical,CA:TRUE,pathlen:1", "-out", k.file("ca.cert.pem"))
	k.Govern("ENCRYPT")
	return k
}

func (k *Keystore) file(name string) string { return filepath.Join(k.Path, name) }

func (k *Keystore) openssl(args ...string) {
	k.t.Helper()
	out, err := exec.Command("openssl", args...).CombinedOutput()
	require.NoError(k.t, err, "openssl %s: %s", args, out)
}

// Govern writes the governance document. protection is the protection of data and metadata: NONE, SIGN or ENCRYPT.
func (k *Keystore) Govern(protection string) {
	k.t.Helper()
	rtps := "SIGN"
	if protection == "NONE" {
		rtps = "NONE"
	}
	k.Sign(k.file("enclaves/governance.p7s"), fmt.Sprintf(`<?xml version="1.0" encoding="utf-8"?>
<dds><domain_access_rules><domain_rule>
<domains><id>%d</id></domains>
<allow_unauthenticated_participants>false</allow_unauthenticated_participants>
<enable_join_access_control>true</enable_join_access_control>
<discovery_protection_kind>%[2]s</discovery_protection_kind>
<liveliness_protection_kind>%[2]s</liveliness_protection_kind>
<rtps_protection_kind>%s</rtps_protection_kind>
<topic_access_rules><topic_rule>
<topic_expression>*</topic_expression>
<enable_discovery_protection>true</enable_discovery_protection>
<enable_liveliness_protection>true</enable_liveliness_protection>
<enable_read_access_control>true</enable_read_access_control>
<enable_write_access_control>true</enable_write_access_control>
<metadata_protection_kind>%[2]s</metadata_protection_kind>
<data_protection_kind>%[2]s</data_protection_kind>
</topic_rule></topic_access_rules>
</domain_rule></domain_access_rules></dds>
`, k.domain, protection, rtps))
}

// Sign signs a document into a file.
func (k *Keystore) Sign(path, document string) {
	k.t.Helper()
	xml := path + ".xml"
	require.NoError(k.t, os.WriteFile(xml, []byte(document), 0o600))
	k.openssl("smime", "-sign", "-text", "-md", "sha256", "-in", xml, "-signer", k.file("ca.cert.pem"), "-inkey",
		k.file("ca.key.pem"), "-out", path)
}

// Add makes an enclave with a name such as /talker, and returns its folder.
func (k *Keystore) Add(name string, e Enclave) string {
	k.t.Helper()
	dir := k.file("enclaves" + name)
	require.NoError(k.t, os.MkdirAll(dir, 0o755))
	in := func(name string) string { return filepath.Join(dir, name) }
	if e.Days == 0 {
		e.Days = 3650
	}
	k.openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", in("key.pem"))
	subject := "/CN=" + strings.ReplaceAll(name, "/", `\/`)
	k.openssl("req", "-new", "-key", in("key.pem"), "-sha256", "-subj", subject, "-out", in("req.pem"))
	k.openssl("x509", "-req", "-in", in("req.pem"), "-CA", k.file("ca.cert.pem"), "-CAkey", k.file("ca.key.pem"),
		"-CAcreateserial", "-days", strconv.Itoa(e.Days), "-sha256", "-out", in("cert.pem"))
	for link, target := range map[string]string{
		"identity_ca.cert.pem": "ca.cert.pem", "permissions_ca.cert.pem": "ca.cert.pem",
		"governance.p7s": "enclaves/governance.p7s",
	} {
		require.NoError(k.t, os.Symlink(k.file(target), in(link)))
	}
	if e.Subject == "" {
		e.Subject = name
	}
	if e.Topics == nil {
		e.Topics = []string{"rt/*", "rq/*Request", "rr/*Reply"}
	}
	if e.NotAfter.IsZero() {
		e.NotAfter = time.Now().AddDate(10, 0, 0)
	}
	rules := ""
	for _, topics := range [][]string{e.Topics, {"ros_discovery_info"}} {
		list := "<topics><topic>" + strings.Join(topics, "</topic><topic>") + "</topic></topics>"
		rules += fmt.Sprintf("<allow_rule><domains><id>%d</id></domains>"+
			"<publish>%s</publish><subscribe>%[2]s</subscribe></allow_rule>\n", k.domain, list)
	}
	const layout = "2006-01-02T15:04:05"
	k.Sign(in("permissions.p7s"), fmt.Sprintf(`<?xml version="1.0" encoding="utf-8"?>
<dds><permissions><grant name="%s"><subject_name>CN=%s</subject_name>
<validity><not_before>%s</not_before><not_after>%s</not_after></validity>
%s<default>DENY</default></grant></permissions></dds>
`, name, e.Subject, time.Now().AddDate(0, 0, -1).UTC().Format(layout), e.NotAfter.UTC().Format(layout), rules))
	return dir
}

// Environment returns the environment variables that put a process into an enclave.
func (k *Keystore) Environment(enclave string) []string {
	return []string{
		"ROS_SECURITY_ENABLE=true", "ROS_SECURITY_STRATEGY=Enforce", "ROS_SECURITY_KEYSTORE=" + k.Path,
		"ROS_SECURITY_ENCLAVE_OVERRIDE=" + enclave,
	}
}
