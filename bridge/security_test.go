package bridge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSecurity(t *testing.T) {
	store := t.TempDir()
	for _, enclave := range []string{"", "talker", "half"} {
		require.NoError(t, os.MkdirAll(filepath.Join(store, "enclaves", enclave), 0o755))
		for _, name := range []string{
			IdentityCAFile, CertificateFile, PrivateKeyFile, PermissionsCAFile, GovernanceFile, PermissionsFile,
		} {
			if enclave != "half" || name == CertificateFile {
				require.NoError(t, os.WriteFile(filepath.Join(store, "enclaves", enclave, name), nil, 0o600))
			}
		}
	}
	keys := filepath.Join(store, "enclaves")
	const on = "ENABLE=true KEYSTORE=STORE "
	for _, test := range []struct{ enclave, variables, want, warning, err string }{
		{"", "", "off", "", ""},
		{"", "ENABLE=false KEYSTORE=/x", "off", "", ""},
		{"", "ENABLE=True STRATEGY=Enforce KEYSTORE=STORE", "off", `ROS_SECURITY_ENABLE is "True", and only`, ""},
		{"", on, "on, enclave /, keys in " + keys + ", Permissive", "", ""},
		{"/talker", on + "STRATEGY=Enforce", "on, enclave /talker, keys in " + keys + "/talker, Enforce", "", ""},
		{"/listener", on + "STRATEGY=Enforce ENCLAVE_OVERRIDE=/talker",
			"on, enclave /listener, keys in " + keys + "/talker, Enforce", "", ""},
		{"/listener", on, "off", "the keystore has no folder " + keys + "/listener for the enclave /listener", ""},
		{"/listener", on + "STRATEGY=Enforce", "", "",
			"security: the keystore has no folder " + keys + "/listener for the enclave /listener"},
		{"/half", on + "STRATEGY=enforce", "off", keys + "/half lacks identity_ca.cert.pem, key.pem,", ""},
		{"/half", on + "STRATEGY=Enforce", "", "", "permissions_ca.cert.pem, governance.p7s, permissions.p7s: "},
		{"", "ENABLE=true", "off", "ROS_SECURITY_KEYSTORE is not set", ""},
		{"", "ENABLE=true STRATEGY=Enforce", "", "", "ROS_SECURITY_KEYSTORE is not set"},
		{"", on + "STRATEGY=Enforce ENCLAVE_OVERRIDE=talker", "", "", `ENCLAVE_OVERRIDE is "talker", want`},
		{"/../x", "", "", "", `the enclave is "/../x", want a name such as /robot/talker`},
		{"talker", "", "", "", "the enclave is"}, {"/a/", "", "", "", "the enclave is"},
		{"/1", "", "", "", "the enclave is"},
	} {
		t.Run(test.enclave+" "+test.variables, func(t *testing.T) {
			s, warnings, err := NewSecurity(test.enclave, func(name string) string {
				for _, v := range strings.Fields(test.variables) {
					if value, ok := strings.CutPrefix("ROS_SECURITY_"+v, name+"="); ok {
						return strings.Replace(value, "STORE", store, 1)
					}
				}
				return ""
			})
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, s.String())
			s.Unsure = !s.Enforce
			if s.Unsure && s.Keys != "" {
				require.Equal(t, "asked for (Permissive), enclave /, keys in "+keys+
					"; the RMW implementation may go on without it", s.String())
			}
			require.Contains(t, strings.Join(warnings, "\n"), test.warning)
			require.Equal(t, test.warning != "", warnings != nil)
		})
	}
}
