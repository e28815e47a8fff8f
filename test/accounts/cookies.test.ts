import t from 'tap'
import { cookieName, printCookie, readCookie } from '../../lib/accounts/cookies.ts'

t.test('a cookie is found by its complete name', async t => {
  t.equal(readCookie({ cookie: 'xheadgate_session=1; headgate_session=2' }, 'session', false), '2')
  t.equal(readCookie({ cookie: 'headgate_sessions=1; headgate_sign_in=3' }, 'session', false), undefined)
  t.equal(readCookie({}, 'session', false), undefined)
})

t.test('over TLS a cookie is bound to this host and every path, otherwise to the admin API', async t => {
  t.equal(
    printCookie({ kind: 'session', value: 'x', secure: true, maxAgeSeconds: 60 }),
    '__Host-headgate=x; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=60'
  )
  t.equal(
    printCookie({ kind: 'sign_in', value: '', secure: false, maxAgeSeconds: 0 }),
    'headgate_sign_in=; Path=/admin; HttpOnly; SameSite=Lax; Max-Age=0'
  )
  t.match(cookieName('sign_in', true), /^__Host-/)
})
