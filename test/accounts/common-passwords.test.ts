import t from 'tap'
import { isCommonPassword } from '../../lib/accounts/common-passwords.ts'

t.test('common passwords are recognised', async t => {
  for (const password of [
    'password1234',
    'Password2027!',
    'P@ssw0rd!!!!',
    '123456789012',
    '210987654321',
    'qwertyuiop12',
    'abcdefghijkl',
    'aaaaaaaaaaaa',
    'abcabcabcabc',
    'letmeinletmein',
    'adminadmin123',
    'summer2026!!',
    'welcome-welcome',
    '1qaz2wsx3edc',
    'headgate2026!',
    'asdfghjkl1234'
  ]) {
    t.ok(isCommonPassword(password), password)
  }
})

t.test('the name of the user is recognised too', async t => {
  t.ok(isCommonPassword('marie.curie1867', ['Marie Curie', 'mc@example.com']))
  t.ok(isCommonPassword('curie@example.com', ['Marie Curie', 'curie@example.com']))
  t.notOk(isCommonPassword('marie.curie1867'))
})

t.test('other passwords are accepted', async t => {
  for (const password of [
    'tangerine-otter-quartz-91',
    'korrekt pferd batterie',
    'xK9#mQ2$vL7!',
    'correct horse battery staple',
    'ποδήλατο στη βροχή',
    '8-ünf!Ä-zwölf?'
  ]) {
    t.notOk(isCommonPassword(password), password)
  }
})
