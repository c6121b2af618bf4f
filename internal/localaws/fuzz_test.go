package localaws_test

import (
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/detourhq/detour/internal/localalb"
	"github.com/detourhq/detour/internal/localaws"
)

// Whatever is posted, the answer is XML, and a refusal if it is not what was asked.
func FuzzQuery(f *testing.F) {
	const tuple = "&Actions.member.1.ForwardConfig.TargetGroups.member.1."
	for _, form := range []string{
		"", "Action=", "Action=DescribeRules", "Action=DescribeTags&ResourceArns.member.1=", "Action=%zz",
		"Action=ModifyRule&RuleArn=" + localaws.RuleARN(localalb.DefaultRule) + "&Actions.member.1.Type=forward" + tuple + "Weight=1",
		"Action=ModifyRule&RuleArn=" + front + tuple + "TargetGroupArn=" + blue + tuple + "Weight=1",
		"Action=ModifyRule&RuleArn=" + front + tuple + "TargetGroupArn=" + blue + tuple + "Weight=many",
		"Action=AddTags&ResourceArns.member.1=" + front + "&Tags.member.1.Key=a&Tags.member.1.Value=%3Cb",
		"Action=AddTags&ResourceArns.member.1=" + front + "&Tags.member.1.Key=%00%ff%3C&Tags.member.1.Value=b",
		"Action=CompleteLifecycleAction&InstanceId=%3Ci-1", "Action=RecordLifecycleActionHeartbeat",
	} {
		f.Add(form)
	}
	lb, err := localalb.New(localalb.Config{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = lb.Close() })
	if err := errors.Join(
		lb.AddHTTPGroup("blue", localalb.HTTPGroup{}),
		lb.SetRule(localalb.Rule{Name: "front", Priority: 1, Conditions: []localalb.Condition{localalb.PathPattern("/*")}, Action: localalb.Forward{"blue": 1}}),
		lb.SetDefault(localalb.Forward{"blue": 1}),
	); err != nil {
		f.Fatal(err)
	}
	s := &localaws.Server{ELB: localaws.InFrontOf(lb), AutoScaling: &localaws.AutoScaling{}}
	f.Fuzz(func(t *testing.T, form string) {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(form))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		res := httptest.NewRecorder()
		s.ServeHTTP(res, req)
		if res.Code != http.StatusOK && res.Code != http.StatusBadRequest {
			t.Errorf("status %d", res.Code)
		}
		for d := xml.NewDecoder(res.Body); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				t.Fatalf("%q: %v", form, err)
			}
		}
	})
}
