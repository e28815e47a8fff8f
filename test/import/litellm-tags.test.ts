import t from 'tap'
import { importedTables } from '../support/litellm-tables.ts'
import { load } from '../support/config.ts'
import { ownTags } from '../../lib/usage/usage-settings.ts'
import type { JsonObject } from '../../lib/json/type-guards.ts'

function notesOfTags (
  rows: ReadonlyArray<{ readonly path: string, readonly verdict: string, readonly note: string }>
): string[] {
  return rows
    .filter(({ path }) => path.endsWith('.metadata.tags'))
    .map(({ path, verdict, note }) => `${path} ${verdict}: ${note}`)
    .toSorted()
}

t.test('tags of keys and teams are in the configuration and apply to calls', async t => {
  const { config, rows, secrets } = await importedTables(tables => {
    const [team] = tables['LiteLLM_TeamTable'] ?? []
    if (team !== undefined) team['metadata'] = { tags: ['research'] }
    tables['LiteLLM_ProjectTable'] = [{ project_id: 'part', metadata: { tags: ['part'] } }]
    const user = tables['LiteLLM_UserTable']?.find(row => row['user_alias'] === 'Bob')
    if (user !== undefined) user['metadata'] = { tags: ['of no call'] }
    for (const key of tables['LiteLLM_VerificationToken'] ?? []) {
      if (key['key_alias'] === 'team') {
        Object.assign(key, { metadata: { tags: ['app', 'beta', 'app'] }, project_id: 'part' })
      }
      if (key['key_alias'] === 'total') key['metadata'] = { tags: [] }
    }
  })
  t.same(config['usage'], {
    keys: [{ key: 'team', tags: ['app', 'beta', 'part'] }],
    projects: [{ project: 'Research', tags: ['research'] }]
  })
  const { usage } = load(t, JSON.stringify(config), {
    ...Object.fromEntries(secrets), PROVIDER_KEY: 'x'
  })
  const tags = ownTags(usage)
  t.same(
    tags?.({ id: 'key_1', name: 'team', project: { id: 'project_1', name: 'Research' } }),
    ['app', 'beta', 'part', 'research']
  )
  t.same(notesOfTags(rows), [
    'LiteLLM_TeamTable.metadata.tags exact: `usage.projects` (Research)',
    'LiteLLM_UserTable.metadata.tags approximate: only a description (Bob)',
    'LiteLLM_VerificationToken.metadata.tags exact: `usage.keys` (team)',
    'LiteLLM_VerificationToken.metadata.tags manual: set them in `usage.keys` by its id: its name is not ' +
      'unique here (plain)'
  ])
})

t.test('invalid tags are reported, and the others are kept', async t => {
  const many = Array.from({ length: 12 }, (_, index) => `tag ${index}`)
  const read = async (tags: unknown): Promise<{ usage: unknown, notes: readonly string[] }> => {
    const { config, rows } = await importedTables(tables => {
      delete tables['LiteLLM_TeamTable']
      tables['LiteLLM_VerificationToken'] = (tables['LiteLLM_VerificationToken'] ?? [])
        .filter(row => row['key_alias'] === 'total')
        .map((row): JsonObject => ({ ...row, metadata: { tags } }))
    })
    return { usage: config['usage'], notes: notesOfTags(rows) }
  }
  const limited =
    'LiteLLM_VerificationToken.metadata.tags approximate: `usage.keys`: at most 10, of up to 64 characters ' +
    'without commas (total)'
  t.same(await read(many), {
    usage: { keys: [{ key: 'total', tags: many.slice(0, 10) }] }, notes: [limited]
  })
  t.same(await read(['a,b', 7, '', 'x'.repeat(65), 'c']), {
    usage: { keys: [{ key: 'total', tags: ['c'] }] }, notes: [limited]
  })
  t.same(await read(['a,b']), { usage: undefined, notes: [limited] })
})
