package dds

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
)

// openSecured opens a node in an enclave of a keystore, "" for none.
func openSecured(
	t *testing.T, k *bridgetest.Keystore, domain int, name, enclave string,
) (bridge.Node, *console, error) {
	for _, variable := range []string{"ENABLE", "STRATEGY", "KEYSTORE", "ENCLAVE_OVERRIDE"} {
		t.Setenv("ROS_SECURITY_"+variable, "")
	}
	for _, v := range k.Environment(enclave) {
		key, value, _ := strings.Cut(v, "=")
		t.Setenv(key, value)
	}
	out := new(console)
	n, err := Open(bridge.Options{Name: name, Namespace: "/test", Domain: domain, Console: out})
	if err == nil {
		t.Cleanup(func() { require.NoError(t, n.Close()) })
	}
	return n, out, err
}

func TestSecuredNodes(t *testing.T) {
	domain := domainOf(t)
	k := bridgetest.NewKeystore(t, domain)
	k.Add("/talker", bridgetest.Enclave{})
	k.Add("/listener", bridgetest.Enclave{NotAfter: time.Now().Add(35*time.Hour + 30*time.Minute), Topics: []string{
		"rt/rosout", "rt/parameter_events", "rt/test/heard", "rq/test/*Request", "rr/test/*Reply",
	}})
	// In one process, Cyclone DDS allows each participant what the enclave of any other allows. So the checks of denied
	// topics come before the process has a second participant.
	listener, log, err := openSecured(t, k, domain, "listener", "/listener")
	require.NoError(t, err)
	await(t, func() bool { return strings.Contains(log.String(), "permissions.p7s expires in 35h") })
	_, err = listener.Subscribe("other", bridgetest.BytesType, bridgetest.KeepAll(), func([]bridge.Sample) {})
	require.ErrorContains(t, err, fmt.Sprintf("subscribe to /test/other: %s/enclaves/listener/permissions.p7s does "+
		"not allow to subscribe to the DDS topic rt/test/other in domain %d", k.Path, domain))
	_, err = listener.Advertise("other", bridgetest.BytesType, bridgetest.KeepAll())
	require.ErrorContains(t, err, "permissions.p7s does not allow to publish the DDS topic rt/test/other")
	_, err = listener.Call(t.Context(), "/elsewhere/echo", echoType, bridgetest.Pattern(32, 5))
	require.ErrorContains(t, err, "permissions.p7s does not allow to publish the DDS topic rq/elsewhere/echoRequest")

	talker, log, err := openSecured(t, k, domain, "talker", "/talker")
	require.NoError(t, err)
	require.Contains(t, log.String(), "security is on, enclave /, keys in "+k.Path+"/enclaves/talker, Enforce")
	require.NotContains(t, log.String(), "expires in")
	received := make(chan string, 10)
	_, err = listener.Subscribe("heard", bridgetest.BytesType, bridgetest.KeepAll(), func(samples []bridge.Sample) {
		for i := range samples {
			received <- string(samples[i].Data)
		}
	})
	require.NoError(t, err)
	p, err := talker.Advertise("heard", bridgetest.BytesType, bridgetest.KeepAll())
	require.NoError(t, err)
	await(t, func() bool { return p.Subscribers() == 1 })
	for _, size := range []int{12, 100, 200_000} {
		require.NoError(t, p.Publish(bridgetest.Pattern(size, size)))
		require.Equal(t, string(bridgetest.Pattern(size, size)), (<-received)[:size])
	}
	_, err = talker.Serve("echo", echoType, echo)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	response, err := listener.Call(ctx, "echo", echoType, bridgetest.Pattern(32, 5))
	require.NoError(t, err)
	require.Equal(t, bridgetest.Pattern(32, 5), response[:32])
}

// TestForeignPlugins has a process with keys find plugins of the right name, but of something else, in LD_LIBRARY_PATH.
func TestForeignPlugins(t *testing.T) {
	domain := domainOf(t)
	k := bridgetest.NewKeystore(t, domain)
	k.Add("/observer", bridgetest.Enclave{})
	k.Add("/other", bridgetest.Enclave{})
	folder := t.TempDir()
	empty := filepath.Join(folder, "empty.so")
	out, err := exec.Command("gcc", "-shared", "-o", empty, "-xc", os.DevNull).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, plugin := range []string{"auth", "crypto", "ac"} {
		require.NoError(t, os.Link(empty, filepath.Join(folder, "libdds_security_"+plugin+".so")))
	}
	observer, _, err := openSecured(t, k, domain, "observer", "/observer")
	require.NoError(t, err)
	start(t, "server", append(k.Environment("/other"), "LD_LIBRARY_PATH="+folder,
		fmt.Sprint("ROS_DOMAIN_ID=", domain))...)
	topicOf(t, observer, "/test/numbers", func(topic bridge.Topic) bool { return len(topic.Publishers) == 1 })
}

func TestPluginPath(t *testing.T) {
	folder := t.TempDir()
	library := filepath.Join(folder, "libddsc.so.0debian")
	require.Equal(t, "dds_security_ac", pluginPath(library, "dds_security_ac"))
	require.Equal(t, "dds_security_ac", pluginPath("", "dds_security_ac"))
	inside := filepath.Join(folder, "libddsc0debian", "libdds_security_ac.so")
	require.NoError(t, os.Mkdir(filepath.Dir(inside), 0o777))
	require.NoError(t, os.WriteFile(inside, nil, 0o666))
	require.Equal(t, inside, pluginPath(library, "dds_security_ac"))
	beside := filepath.Join(folder, "libdds_security_ac.so")
	require.NoError(t, os.WriteFile(beside, nil, 0o666))
	require.Equal(t, beside, pluginPath(library, "dds_security_ac"))
}

// revoke puts a list into an enclave by which its own certificate is revoked.
func revoke(t *testing.T, k *bridgetest.Keystore, dir string) {
	read := func(path string) []byte {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		block, rest := pem.Decode(text)
		if strings.HasSuffix(block.Type, "PARAMETERS") {
			block, _ = pem.Decode(rest)
		}
		return block.Bytes
	}
	ca, err := x509.ParseCertificate(read(filepath.Join(k.Path, "ca.cert.pem")))
	require.NoError(t, err)
	key, err := x509.ParseECPrivateKey(read(filepath.Join(k.Path, "ca.key.pem")))
	require.NoError(t, err)
	own, err := x509.ParseCertificate(read(filepath.Join(dir, "cert.pem")))
	require.NoError(t, err)
	list := x509.RevocationList{
		Number: big.NewInt(1), ThisUpdate: time.Now().Add(-time.Hour), NextUpdate: time.Now().Add(time.Hour),
		RevokedCertificateEntries: []x509.RevocationListEntry{
			{SerialNumber: own.SerialNumber, RevocationTime: time.Now().Add(-time.Hour)},
		},
	}
	ca.KeyUsage = x509.KeyUsageCRLSign // the certificate of the CA does not state it
	der, err := x509.CreateRevocationList(rand.Reader, &list, ca, key)
	require.NoError(t, err)
	text := pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "crl.pem"), text, 0o600))
}

func TestWrongKeys(t *testing.T) {
	domain := domainOf(t)
	k, other := bridgetest.NewKeystore(t, domain), bridgetest.NewKeystore(t, domain)
	foreign := other.Add("/talker", bridgetest.Enclave{})
	governance, err := os.ReadFile(filepath.Join(k.Path, "enclaves/governance.p7s.xml"))
	require.NoError(t, err)
	k.Sign(filepath.Join(k.Path, "elsewhere.p7s"), strings.Replace(string(governance), fmt.Sprintf("<id>%d<", domain),
		fmt.Sprintf("<id>%d<", domain+1), 1))
	replace := func(name, from string) func(string) {
		return func(dir string) {
			data, err := os.ReadFile(from)
			require.NoError(t, err)
			require.NoError(t, os.Remove(filepath.Join(dir, name)))
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
		}
	}
	edit := func(name, old, text string) func(string) {
		return func(dir string) {
			data, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			require.Contains(t, string(data), old)
			changed := strings.Replace(string(data), old, text, 1)
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(changed), 0o600))
		}
	}
	for i, test := range []struct {
		name    string
		enclave bridgetest.Enclave
		break_  func(dir string)
		want    []string
	}{
		{"expired certificate", bridgetest.Enclave{Days: -1}, nil,
			[]string{"refuses cert.pem, identity_ca.cert.pem in DIR", "certificate has expired"}},
		{"expired permissions", bridgetest.Enclave{NotAfter: time.Now().Add(-time.Hour)}, nil,
			[]string{"refuses permissions.p7s, cert.pem in DIR", "validity period expired for CN=NAME"}},
		{"other name", bridgetest.Enclave{Subject: "/other"}, nil,
			[]string{"refuses permissions.p7s, cert.pem in DIR", "Subject name is invalid"}},
		{"certificate of another CA", bridgetest.Enclave{}, func(dir string) {
			replace("cert.pem", foreign+"/cert.pem")(dir)
			replace("key.pem", foreign+"/key.pem")(dir)
		}, []string{"refuses cert.pem, identity_ca.cert.pem in DIR", "certificate signature failure"}},
		{"key of another certificate", bridgetest.Enclave{}, replace("key.pem", foreign+"/key.pem"),
			[]string{"DIR/cert.pem with DIR/key.pem: ", "private key does not match public key"}},
		{"no key", bridgetest.Enclave{}, replace("key.pem", foreign+"/cert.pem"),
			[]string{"DIR/cert.pem with DIR/key.pem: ", "found a certificate rather than a key"}},
		{"permissions of another CA", bridgetest.Enclave{}, replace("permissions.p7s", foreign+"/permissions.p7s"),
			[]string{"refuses governance.p7s, permissions.p7s, permissions_ca.cert.pem in DIR", "certificate verify"}},
		{"governance of another CA", bridgetest.Enclave{}, replace("governance.p7s", foreign+"/governance.p7s"),
			[]string{"refuses governance.p7s, permissions.p7s, permissions_ca.cert.pem in DIR", "certificate verify"}},
		{"changed permissions", bridgetest.Enclave{}, edit("permissions.p7s", "rt/*", "rt/x"),
			[]string{"refuses governance.p7s, permissions.p7s, permissions_ca.cert.pem in DIR", "digest failure"}},
		{"no signature", bridgetest.Enclave{}, replace("permissions.p7s", foreign+"/permissions.p7s.xml"),
			[]string{"refuses governance.p7s, permissions.p7s, permissions_ca.cert.pem in DIR", "PKCS7"}},
		{"other domain", bridgetest.Enclave{}, func(dir string) {
			replace("governance.p7s", filepath.Join(k.Path, "elsewhere.p7s"))(dir)
		}, []string{"refuses governance.p7s in DIR", fmt.Sprintf("Could not find domain %d in governance", domain)}},
		{"no certificate", bridgetest.Enclave{}, replace("cert.pem", "/dev/null"),
			[]string{"DIR/cert.pem with DIR/key.pem: ", "failed to find any PEM data in certificate input"}},
		{"revoked", bridgetest.Enclave{}, func(dir string) { revoke(t, k, dir) },
			[]string{"refuses cert.pem, crl.pem in DIR", "certificate revoked"}},
		{"broken list of revocations", bridgetest.Enclave{}, func(dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "crl.pem"), nil, 0o600))
		}, []string{"refuses crl.pem in DIR", "Failed to read CRL"}},
		{"list of revocations that is not there", bridgetest.Enclave{}, func(dir string) {
			require.NoError(t, os.Symlink("none", filepath.Join(dir, "crl.pem")))
		}, []string{"refuses the keys in DIR", "File could not be found, opened or is empty, path: DIR/crl.pem"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			name := fmt.Sprint("/enclave", i)
			dir := k.Add(name, test.enclave)
			if test.break_ != nil {
				test.break_(dir)
			}
			_, _, err := openSecured(t, k, domain, "talker", name)
			require.ErrorContains(t, err, "open node /test/talker: security: ")
			for _, want := range test.want {
				require.ErrorContains(t, err, strings.NewReplacer("DIR", dir, "NAME", name).Replace(want))
			}
			require.NotContains(t, domains.byID, domain)
		})
	}
}

// TestKeysExpire checks a node whose permissions expire while it runs.
func TestKeysExpire(t *testing.T) {
	domain := domainOf(t)
	k := bridgetest.NewKeystore(t, domain)
	var dir string
	var log *console
	for wait := 2 * time.Second; ; wait *= 2 { // until the node opens before that, on a busy machine
		name, end := fmt.Sprint("/talker", wait), time.Now().Add(wait).Truncate(time.Second)
		dir = k.Add(name, bridgetest.Enclave{NotAfter: end})
		var err error
		_, log, err = openSecured(t, k, domain, "talker", name)
		if err == nil {
			break
		}
		require.True(t, time.Now().After(end), "%v", err)
	}
	await(t, func() bool {
		return strings.Contains(log.String(), dir+"/permissions.p7s has expired: this node is off the graph")
	})
	require.Contains(t, log.String(), dir+"/permissions.p7s expires in ")
}

// TestNodesEndWithTheirOwnKeys checks which file expires first: the certificate or the permissions.
func TestNodesEndWithTheirOwnKeys(t *testing.T) {
	k := bridgetest.NewKeystore(t, domainOf(t))
	soon := time.Now().Add(3 * time.Hour).UTC().Truncate(time.Second)
	for i, test := range []struct {
		enclave  bridgetest.Enclave
		expiring string
		within   time.Duration
	}{
		{bridgetest.Enclave{Days: 1}, bridge.CertificateFile, 24 * time.Hour},
		{bridgetest.Enclave{NotAfter: soon}, bridge.PermissionsFile, 3 * time.Hour},
		{bridgetest.Enclave{NotAfter: soon, Subject: "/other"}, bridge.CertificateFile, 3650 * 24 * time.Hour},
	} {
		dir := k.Add(fmt.Sprint("/talker", i), test.enclave)
		c := credentials{folder: dir}
		require.NoError(t, c.check())
		require.Equal(t, filepath.Join(dir, test.expiring), c.expiring)
		require.WithinDuration(t, time.Now().Add(test.within), c.expires, time.Minute)
	}
}
