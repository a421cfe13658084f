package load

import (
	"bufio"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
)

func FuzzParse(f *testing.F) {
	for _, text := range []string{"http://a:1/b/{10}?c=d", "redis://a/GET/key:{1000}", "https://a", "redis://[::1]:7/SET/a/b", "http://a/{x}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		target, err := Parse(text)
		if err != nil {
			return
		}
		sent := string(target.requests[0].appendTo(nil, rand.New(rand.NewPCG(1, 1))))
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if u.Scheme != "redis" {
			if head, _, ok := strings.Cut(sent, "\r\n"); !ok || strings.Count(head, " ") != 2 || !strings.HasSuffix(sent, "\r\n\r\n") {
				t.Errorf("%q sends %q", text, sent)
			}
		}
	})
}

func FuzzRedisReply(f *testing.F) {
	for _, text := range []string{"+OK\r\n", "$3\r\nabc\r\n", "*2\r\n:1\r\n$-1\r\n", "-ERR\r\n", "%1\r\n+a\r\n+b\r\n", "*999999999\r\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(_ *testing.T, reply []byte) {
		_, _ = redis{}.answer(&conn{reader: bufio.NewReaderSize(strings.NewReader(string(reply)), 16<<10)})
	})
}
