package localaws

import (
	"encoding/xml"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
)

// parse fills v, an input of the SDK's, from a form of the query protocol: structs
// as NAME.FIELD, lists as NAME.member.N from 1 on (smithy.io, "AWS query protocol").
// The SDK's names are those of the protocol. What v has no place for is ignored, as
// AWS does.
func parse(form url.Values, name string, v reflect.Value) (err error) {
	text := form.Get(name)
	switch v.Kind() {
	case reflect.Pointer:
		if !named(form, name) {
			return nil
		}
		v.Set(reflect.New(v.Type().Elem()))
		return parse(form, name, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				if err := parse(form, strings.TrimPrefix(name+"."+f.Name, "."), v.Field(i)); err != nil {
					return err
				}
			}
		}
	case reflect.Slice:
		for n := 1; named(form, member(name, n)); n++ {
			one := reflect.New(v.Type().Elem()).Elem()
			if err := parse(form, member(name, n), one); err != nil {
				return err
			}
			v.Set(reflect.Append(v, one))
		}
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		var b bool
		b, err = strconv.ParseBool(text)
		v.SetBool(b)
	case reflect.Int32, reflect.Int64:
		var n int64
		n, err = strconv.ParseInt(text, 10, v.Type().Bits())
		v.SetInt(n)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func member(name string, n int) string { return fmt.Sprintf("%s.member.%d", name, n) }

// named reports whether form tells anything of name.
func named(form url.Values, name string) bool {
	if form.Has(name) {
		return true
	}
	for key := range form {
		if strings.HasPrefix(key, name+".") {
			return true
		}
	}
	return false
}

// render writes v, an output of the SDK's, as the element called name, without what
// it does not tell.
func render(b *strings.Builder, name string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			render(b, name, v.Elem())
		}
	case reflect.Struct:
		b.WriteString("<" + name + ">")
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "ResultMetadata" {
				render(b, f.Name, v.Field(i))
			}
		}
		b.WriteString("</" + name + ">")
	case reflect.Slice:
		b.WriteString("<" + name + ">")
		for i := range v.Len() {
			render(b, "member", v.Index(i))
		}
		b.WriteString("</" + name + ">")
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64:
		if text := fmt.Sprint(v.Interface()); text != "" {
			b.WriteString("<" + name + ">")
			_ = xml.EscapeText(b, []byte(text)) // a builder never fails
			b.WriteString("</" + name + ">")
		}
	}
}
