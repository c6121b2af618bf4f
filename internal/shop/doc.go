// Package shop is a web shop whose nodes keep sessions in their own memory, and the
// customers who use it: they log in, fill a cart, look whether it holds what they put
// in, and log out. A deployment is tried with them where a session must not be lost.
package shop
