/** The keys of all projects that the user may see. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { api, type Answer } from '../api/client.ts'
import { Spend } from '../limits/spend.tsx'
import { Clip } from '../parts/clip.tsx'
import { Button } from '../parts/button.tsx'
import { Empty } from '../parts/empty.tsx'
import { Lead } from '../parts/lead.tsx'
import { Moment } from '../parts/moment.tsx'
import { More } from '../parts/more.tsx'
import { Failure } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { Search } from '../parts/search.tsx'
import { Segments } from '../parts/segments.tsx'
import { PlainSelect } from '../parts/select.tsx'
import { Table, type Column } from '../parts/table.tsx'
import { projectChoices, projectName } from '../state/names.ts'
import { usePages } from '../state/pages.ts'
import { query, setQuery } from '../state/router.ts'
import { KeyActions } from './key-actions.tsx'
import { KeyStatus } from './key-status.tsx'
import { NewKey } from './new-key.tsx'

type Key = Answer<'GET /admin/v1/keys/:key_id'>

const states = [
  { value: 'active', label: 'Active' },
  { value: 'revoked', label: 'Revoked' },
  { value: 'all', label: 'All' }
]

function placeOf ({ id }: Key): string {
  return `/keys/${encodeURIComponent(id)}`
}

export function KeysPage (): JSX.Element {
  const creating = useSignal(query.value.has('new'))
  const status = query.value.get('status') ?? 'active'
  const project = query.value.get('project') ?? ''
  const search = query.value.get('search') ?? ''
  const { rows, more, update, error, loading, reload } = usePages(
    `${status} ${project} ${search}`,
    (cursor, signal) =>
      api('GET /admin/v1/keys', {
        query: { status: status === 'all' ? undefined : status, project, search, cursor },
        ...signal !== undefined && { signal }
      })
  )
  const changed = (key: Key): void => update(rows => rows.map(row => (row.id === key.id ? key : row)))
  const several = projectChoices().length > 1
  const columns: ReadonlyArray<Column<Key>> = [
    {
      title: 'Name',
      cell: key => (
        <>
          <Lead place={placeOf(key)}>{key.name}</Lead>
          <Clip kind='sub mono'>
            {key.hint ?? (key.source === 'configuration' ? 'from the configuration' : key.id)}
          </Clip>
        </>
      ),
      flexible: true
    },
    ...(several
      ? [
          {
            title: 'Project',
            cell: (key: Key) => <Clip>{projectName(key.project_id)}</Clip>,
            flexible: true
          }
        ]
      : []),
    { title: 'Spent', cell: key => <Spend limits={key.limits} spent={key.spent_usd} /> },
    { title: 'Last used', cell: key => <Moment at={key.last_used_at_ms} none='Never' /> },
    {
      title: 'Created',
      cell: key => (
        <>
          <Moment at={key.created_at_ms} />
          {key.created_by !== null && <Clip kind='sub'>{`by ${key.created_by}`}</Clip>}
        </>
      ),
      flexible: true
    },
    {
      title: 'Status',
      cell: key => (
        <>
          <KeyStatus {...key} />
          {key.status === 'active' && key.expires_at_ms !== null && (
            <span class='sub nowrap'>
              until{' '}
              {new Date(key.expires_at_ms).toLocaleDateString('en', {
                day: 'numeric',
                month: 'short',
                year: 'numeric'
              })}
            </span>
          )}
        </>
      )
    },
    { title: 'Actions', actions: true, cell: key => <KeyActions apiKey={key} onChanged={changed} /> }
  ]
  const filtered = search !== '' || project !== '' || status !== 'active'
  return (
    <Page
      title='Keys'
      subtitle='A key is what programs present to the gateway. Each has limits and a budget of its own.'
      actions={
        <Button
          kind='primary'
          icon='plus'
          onClick={() => {
            creating.value = true
          }}
        >
          Create key
        </Button>
      }
    >
      <div class='filters'>
        <Search label='Search keys' value={search} onSearch={value => setQuery({ search: value })} />
        {several && (
          <PlainSelect
            name='Project'
            value={project}
            choices={[{ value: '', label: 'All projects' }, ...projectChoices()]}
            onChange={value => setQuery({ project: value })}
          />
        )}
        <Segments
          label='Status'
          value={status}
          choices={states}
          onChange={value => setQuery({ status: value === 'active' ? undefined : value })}
        />
      </div>
      <Failure error={error} retry={() => void reload()} />
      {(error === undefined || rows !== undefined) && (
        <section class='card'>
          <Table
            label='Keys'
            columns={columns}
            rows={rows}
            id={key => key.id}
            stale={loading && rows !== undefined}
            place={placeOf}
            empty={
              filtered ? (
                <Empty
                  icon='search'
                  title='No key matches'
                  actions={
                    <Button
                      onClick={() => setQuery({ search: undefined, project: undefined, status: undefined })}
                    >
                      Show active keys
                    </Button>
                  }
                />
              ) : (
                <Empty
                  icon='key'
                  title='No keys yet'
                  actions={
                    <Button
                      kind='primary'
                      icon='plus'
                      onClick={() => {
                        creating.value = true
                      }}
                    >
                      Create key
                    </Button>
                  }
                >
                  Create one, and point any OpenAI client at the gateway with it.
                </Empty>
              )
            }
          />
          <More onClick={more} />
        </section>
      )}
      {creating.value && (
        <NewKey
          {...(project !== '' && { project })}
          onClose={() => {
            creating.value = false
          }}
          onCreated={key => update(rows => [key, ...rows])}
        />
      )}
    </Page>
  )
}
