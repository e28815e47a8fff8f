/** The catalogue: models, routes and aliases. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { api } from '../api/client.ts'
import { shortCount } from '../format/numbers.ts'
import { Badge, type Tone } from '../parts/badge.tsx'
import { Clip } from '../parts/clip.tsx'
import { Button } from '../parts/button.tsx'
import { Empty } from '../parts/empty.tsx'
import { Lead } from '../parts/lead.tsx'
import { Failure } from '../parts/notice.tsx'
import { Search } from '../parts/search.tsx'
import { Segments } from '../parts/segments.tsx'
import { Table, type Column } from '../parts/table.tsx'
import { isChatModel, type CatalogueEntry } from '../state/catalogue.ts'
import { useResource } from '../state/resource.ts'
import { at } from '../state/router.ts'
import { may } from '../state/session.ts'
import { Capabilities } from './capabilities.tsx'
import { PriceText } from './price-text.tsx'

const kinds = [
  { value: 'all', label: 'All' },
  { value: 'model', label: 'Models' },
  { value: 'route', label: 'Routes' },
  { value: 'alias', label: 'Aliases' }
]
const tones: Readonly<Record<string, Tone>> = {
  enabled: 'good',
  preview: 'accent',
  deprecated: 'warn',
  disabled: 'neutral'
}

const columns: ReadonlyArray<Column<CatalogueEntry>> = [
  {
    title: 'Model',
    flexible: true,
    cell: ({ id, display_name, kind, targets }) => (
      <>
        <Lead place={callsOf({ id, kind })}>{display_name === '' ? id : display_name}</Lead>
        <Clip kind='sub mono'>{kind === 'model' ? id : `${id} → ${targets.join(', ')}`}</Clip>
      </>
    )
  },
  {
    title: 'Provider',
    cell: ({ kind, provider_id }) => (kind === 'model' ? provider_id : <Badge bare>{kind}</Badge>)
  },
  { title: 'Can', flexible: true, cell: model => <Capabilities model={model} /> },
  {
    title: 'Context',
    number: true,
    cell: ({ capabilities }) =>
      typeof capabilities.input_token_limit === 'number' ? shortCount(capabilities.input_token_limit) : '–'
  },
  {
    title: 'Price per 1M tokens',
    cell: ({ price, kind }) =>
      kind === 'model' ? <PriceText price={price} /> : <span class='faint'>that of its model</span>
  },
  {
    title: 'Status',
    cell: ({ status, circuit }) =>
      circuit === 'open' ? (
        <Badge tone='bad'>circuit open</Badge>
      ) : (
        <Badge tone={tones[status] ?? 'neutral'}>{status}</Badge>
      )
  },
  {
    title: 'Try',
    actions: true,
    cell: entry =>
      may('member') &&
      entry.status !== 'disabled' &&
      isChatModel(entry) && (
        <Button
          small
          kind='plain'
          icon='play'
          href={at(`/playground?model=${encodeURIComponent(entry.id)}`)}
        >
          Try
        </Button>
      )
  }
]

/** Returns the address of the calls of a model, or of those that name a route or an alias. */
function callsOf ({ id, kind }: Pick<CatalogueEntry, 'id' | 'kind'>): string | undefined {
  return may('member')
    ? `/calls?period=week&${kind === 'model' ? 'model' : 'requested_model'}=${encodeURIComponent(id)}`
    : undefined
}

export function ModelList (): JSX.Element {
  const { data, error, reload } = useResource('models', signal => api('GET /admin/v1/models', { signal }))
  const search = useSignal('')
  const kind = useSignal('all')
  const wanted = search.value.toLowerCase()
  const shown = data?.data.filter(
    entry =>
      (kind.value === 'all' || entry.kind === kind.value) &&
      `${entry.id} ${entry.display_name}`.toLowerCase().includes(wanted)
  )
  return (
    <>
      <div class='filters'>
        <Search
          label='Search models'
          value=''
          onSearch={text => {
            search.value = text
          }}
        />
        <Segments
          label='Kind'
          value={kind.value}
          choices={kinds}
          onChange={value => {
            kind.value = value
          }}
        />
      </div>
      <Failure error={error} retry={() => void reload()} />
      {error === undefined && (
        <section class='card'>
          <Table
            label='Models'
            columns={columns}
            rows={shown}
            id={({ id }) => id}
            place={callsOf}
            empty={<Empty icon='models' title='No model matches' />}
          />
        </section>
      )}
    </>
  )
}
