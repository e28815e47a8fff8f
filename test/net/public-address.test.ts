import t from 'tap'
import { AllowedAddresses, bareHost, isPublicAddress } from '../../lib/net/public-address.ts'

t.test('public unicast addresses of both versions are allowed', async t => {
  for (const address of ['1.1.1.1', '93.184.216.34', '2606:4700::1111', '2a00:1450::1', '::ffff:1.1.1.1']) {
    t.ok(isPublicAddress(address), address)
  }
  for (const address of ['', 'example.com', '1.1.1', '4000::1', '1::', 'fe80::1%eth0']) {
    t.notOk(isPublicAddress(address), address)
  }
})

t.test('an address that maps to an internal one is not public, however it is spelled', async t => {
  for (const address of [
    '127.0.0.1',
    '10.0.0.1',
    '169.254.169.254',
    '100.64.0.1',
    '::1',
    '[::1]',
    '::ffff:10.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    'fd00::1',
    '168.63.129.16',
    '::ffff:168.63.129.16'
  ]) {
    t.notOk(isPublicAddress(address), address)
  }
})

t.test('a host is allowed by name in any case, with its allowed port', async t => {
  const allowed = new AllowedAddresses(['Tools.Example.com', 'other.example.com:8080', '[::1]:9000'])
  t.ok(allowed.admitsName('tools.example.COM', '', 'https:'))
  t.ok(allowed.admitsName('tools.example.com', '4000', 'http:'))
  t.ok(allowed.admitsName('other.example.com', '8080', 'http:'))
  t.notOk(allowed.admitsName('other.example.com', '', 'http:'), 'port 80')
  t.ok(allowed.admitsName('::1', '9000', 'http:'))
  t.notOk(allowed.admitsName('::1', '', 'http:'))
  t.notOk(allowed.admitsName('sub.tools.example.com', '', 'https:'), 'a name does not allow those below it')
})

t.test("a host allowed without a port may be called at its protocol's default port", async t => {
  const allowed = new AllowedAddresses(['a.test:443', 'b.test:80'])
  t.same(
    [allowed.admitsName('a.test', '', 'https:'), allowed.admitsName('a.test', '', 'http:')],
    [true, false]
  )
  t.same(
    [allowed.admitsName('b.test', '', 'https:'), allowed.admitsName('b.test', '', 'http:')],
    [false, true]
  )
})

t.test('a range contains only addresses of its own IP version', async t => {
  const allowed = new AllowedAddresses(['10.0.0.0/8', 'fd00::/8', '192.168.0.5', 'fe80::7'])
  const admitted = (address: string): boolean => allowed.admit('some.test', '', 'http:', address)
  t.same(['10.1.2.3', '::ffff:10.1.2.3', 'fd00::7', '192.168.0.5', 'fe80::7'].map(admitted), [
    true,
    true,
    true,
    true,
    true
  ])
  t.same(['11.0.0.1', 'fe80::8', '192.168.0.6', 'not an address', ''].map(admitted), [
    false,
    false,
    false,
    false,
    false
  ])
})

t.test('brackets are removed from an address in a URL', async t => {
  t.same(['[::1]', '::1', 'example.com'].map(bareHost), ['::1', '::1', 'example.com'])
})
