/** One key: its limits, its permissions, its usage, and its last calls. */

import type { JSX } from 'preact'
import { api, type Answer } from '../api/client.ts'
import { columns, placeOf } from '../calls/columns.tsx'
import { date } from '../format/time.ts'
import { dollars } from '../format/numbers.ts'
import { budgetsOf } from '../limits/limits-draft.ts'
import { periodOf } from '../limits/budget-fields.tsx'
import { countFacts } from '../limits/count-facts.ts'
import { Spend } from '../limits/spend.tsx'
import { Card } from '../parts/card.tsx'
import { Empty } from '../parts/empty.tsx'
import { Facts, type Fact } from '../parts/facts.tsx'
import { Moment } from '../parts/moment.tsx'
import { Failure, Notice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { SkeletonLines } from '../parts/skeleton.tsx'
import { Table } from '../parts/table.tsx'
import { projectName } from '../state/names.ts'
import { useResource } from '../state/resource.ts'
import { at } from '../state/router.ts'
import { KeyActions } from './key-actions.tsx'
import { KeyStatus } from './key-status.tsx'
import { UseKey } from './use-key.tsx'

type Key = Answer<'GET /admin/v1/keys/:key_id'>

export function KeyPage ({ id }: { readonly id: string }): JSX.Element {
  const {
    data: key,
    error,
    reload,
    set
  } = useResource(id, signal => api('GET /admin/v1/keys/:key_id', { at: { key_id: id }, signal }))
  const calls = useResource(id, signal =>
    api('GET /admin/v1/calls', { query: { key: id, limit: 10 }, signal })
  )
  return (
    <Page
      title={key?.name ?? 'Key'}
      back={{ place: '/keys', label: 'Keys' }}
      subtitle={
        key !== undefined && (
          <span class='row'>
            <KeyStatus {...key} />
            <code>{key.hint ?? key.id}</code>
          </span>
        )
      }
      actions={key !== undefined && <KeyActions apiKey={key} onChanged={set} />}
    >
      <Failure error={error} retry={() => void reload()} />
      {error === undefined && (
        <div class='stack'>
          {key?.source === 'configuration' && (
            <Notice>This key is part of the configuration: it is changed and removed there.</Notice>
          )}
          <div class='grid two'>
            <Card title='Key'>
              {key === undefined ? <SkeletonLines lines={6} /> : <Facts facts={keyFacts(key)} />}
            </Card>
            <Card title='Limits'>
              {key === undefined ? <SkeletonLines lines={6} /> : <Facts facts={limitFacts(key)} />}
            </Card>
          </div>
          <Card
            title='Last calls'
            flush
            actions={
              <a class='small' href={at(`/calls?key=${encodeURIComponent(id)}&period=all`)}>
                All calls
              </a>
            }
          >
            <Failure error={calls.error} retry={() => void calls.reload()} />
            {calls.error === undefined && (
              <Table
                label='Last calls'
                columns={columns.filter(({ title }) => title !== 'Key')}
                rows={calls.data?.data}
                id={call => call.id}
                place={placeOf}
                empty={
                  <Empty icon='calls' title='Not used yet'>
                    Make a first call with the lines below.
                  </Empty>
                }
              />
            )}
          </Card>
          {key !== undefined && (
            <Card
              title='Use this key'
              subtitle='In place of hg_… put the text that was shown when the key was made.'
            >
              <UseKey secret='hg_…' models={key.models} />
            </Card>
          )}
        </div>
      )}
    </Page>
  )
}

function keyFacts (key: Key): readonly Fact[] {
  return [
    ['Id', <code>{key.id}</code>],
    [
      'Project',
      <a href={at(`/projects/${encodeURIComponent(key.project_id)}`)}>{projectName(key.project_id)}</a>
    ],
    [
      'Created',
      key.created_at_ms === null ? null : (
        <>
          <Moment at={key.created_at_ms} />
          {key.created_by !== null && ` by ${key.created_by}`}
        </>
      )
    ],
    ['Last used', <Moment at={key.last_used_at_ms} none='Never' />],
    ['Expires', key.expires_at_ms === null ? 'Never' : date(key.expires_at_ms)],
    ['Revoked', key.revoked_at_ms === null ? null : <Moment at={key.revoked_at_ms} />],
    ['Endpoints', names(key.endpoints)],
    ['Models', names(key.models)],
    ['Tool servers', names(key.mcp_servers)],
    ['Tools by URL', key.mcp_urls ? 'Allowed' : 'Refused'],
    ['Provider objects', key.provider_objects ? 'Allowed' : 'Refused'],
    ['Guards', key.stages === null ? null : names(key.stages)]
  ]
}

function names (list: readonly string[] | null): JSX.Element | string {
  return list === null ? (
    'All'
  ) : list.length === 0 ? (
    'None'
  ) : (
    <span class='row'>
      {list.map(name => (
        <span class='tag plain mono' key={name}>
          {name}
        </span>
      ))}
    </span>
  )
}

function limitFacts ({ limits, spent_usd }: Key): readonly Fact[] {
  const budgets = budgetsOf(limits)
  const [first] = budgets
  return [
    ['Spent', <Spend limits={limits} spent={spent_usd} />],
    [
      'Budgets',
      budgets.length < 2
        ? null
        : budgets.map(budget => `${dollars(budget.usd)} ${periodOf(budget)}`).join(', ')
    ],
    ...countFacts(limits),
    [
      'Answers',
      first === undefined
        ? null
        : limits?.strict === false
          ? 'May exceed the budget'
          : 'Shortened to the budget'
    ],
    [
      'Unpriced models',
      first === undefined
        ? null
        : budgets.every(({ unpriced }) => unpriced === 'allow')
          ? 'Allowed'
          : 'Refused'
    ]
  ]
}
