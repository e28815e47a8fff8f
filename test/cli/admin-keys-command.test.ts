import { join } from 'node:path'
import t from 'tap'
import { Accounts } from '../../lib/accounts/accounts.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { headgate } from '../support/command.ts'

t.test('admin keys are created, listed and revoked, and shown only once', async t => {
  const directory = t.testdir()
  const made = await headgate(t, ['admin-keys', 'create', '--name', 'terraform', '--json'], directory)
  t.equal(made.code, 0)
  const { id, key }: { id: string, key: string } = JSON.parse(made.out)
  t.match(key, /^hga_/)
  t.match(
    await headgate(
      t,
      [
        'admin-keys',
        'create',
        '--name',
        'reader',
        '--role',
        'viewer',
        '--scopes',
        'usage:read,calls:read',
        '--expires',
        '30d'
      ],
      directory
    ),
    { code: 0, out: /^hga_[\w-]{43}\n\nCreated "reader"/ }
  )
  const list = await headgate(t, ['admin-keys', 'list', '--json'], directory)
  const named = (JSON.parse(list.out) as Array<{ name: string }>).toSorted((a, b) =>
    a.name < b.name ? 1 : -1
  )
  t.match(named, [
    { id, name: 'terraform', role: 'owner', scopes: null, expires_at_ms: null, created_by: 'command line' },
    { name: 'reader', role: 'viewer', scopes: ['usage:read', 'calls:read'], expires_at_ms: Number }
  ])
  t.notMatch(list.out, key)
  t.match(await headgate(t, ['admin-keys', 'list'], directory), {
    out: /terraform +owner +all +never +never +command line/
  })

  const database = await openDatabase(join(directory, '.headgate'))
  const { adminKeys, audit } = new Accounts(database)
  t.match(await adminKeys.check(key), { id, role: 'owner' })
  t.match(await headgate(t, ['admin-keys', 'revoke', id], directory), {
    code: 0,
    out: `Revoked "terraform" (${id}).`
  })
  t.equal(await adminKeys.check(key), undefined)
  const acts = (await audit.list({ action: 'admin_key' }, { limit: 9 })).data
  t.same(acts.map(({ action, actor, subject_name: name }) => `${action} ${actor} ${name}`).toSorted(), [
    'admin_key.create command line reader',
    'admin_key.create command line terraform',
    'admin_key.revoke command line terraform'
  ])
  await database.close()
  t.match(await headgate(t, ['admin-keys', 'revoke', id], directory), {
    code: 1,
    error: /no admin key has the id/
  })
})

t.test('invalid options for an admin key are refused', async t => {
  const directory = t.testdir()
  for (const [args, error] of [
    [['create'], /--name NAME is required/],
    [['create', '--name', 'a'.repeat(101)], /at most 100 characters/],
    [['create', '--name', 'x', '--role', 'ownr'], /did you mean "owner"\?/],
    [['create', '--name', 'x', '--scopes', 'usage:reed'], /did you mean "usage:read"\?/],
    [['create', '--name', 'x', '--expires', '2001-01-01'], /is in the past/],
    [['revoke'], /the id of an admin key is required/],
    [['creat'], /did you mean "create"\?/]
  ] as const) {
    t.match(await headgate(t, ['admin-keys', ...args], directory), { code: 2, error })
  }
})
