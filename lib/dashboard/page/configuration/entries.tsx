/** Every entry in effect, with the source of its value. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { Answer } from '../api/client.ts'
import { Breakable } from '../parts/breakable.tsx'
import { Badge } from '../parts/badge.tsx'
import { Empty } from '../parts/empty.tsx'
import { Search } from '../parts/search.tsx'
import { Segments } from '../parts/segments.tsx'
import { Table, type Column } from '../parts/table.tsx'

type Entry = Answer<'GET /admin/v1/configuration'>['entries'][number]

const origins = [{ value: 'set', label: 'Set' }, { value: 'all', label: 'All' }]

const columns: ReadonlyArray<Column<Entry>> = [
  {
    title: 'Entry',
    cell: ({ path }) => (
      <code>
        <Breakable>{path}</Breakable>
      </code>
    )
  },
  {
    title: 'Value',
    cell: ({ value }) => (
      <code class='break'>{typeof value === 'string' ? value : JSON.stringify(value)}</code>
    )
  },
  {
    title: 'From',
    cell: ({ origin, variable }) => (
      <>
        <Badge bare tone={origin === 'default' ? 'neutral' : 'accent'}>
          {origin}
        </Badge>
        {variable !== null && <span class='sub mono'>{variable}</span>}
      </>
    )
  }
]

export function Entries ({ entries }: { readonly entries: readonly Entry[] | undefined }): JSX.Element {
  const search = useSignal('')
  const origin = useSignal('set')
  const wanted = search.value.toLowerCase()
  const shown = entries?.filter(
    entry =>
      (origin.value === 'all' || entry.origin !== 'default') &&
      `${entry.path} ${entry.variable ?? ''}`.toLowerCase().includes(wanted)
  )
  return (
    <>
      <div class='filters'>
        <Search
          label='Search entries'
          value=''
          onSearch={text => {
            search.value = text
          }}
        />
        <Segments
          label='Origin'
          value={origin.value}
          choices={origins}
          onChange={value => {
            origin.value = value
          }}
        />
      </div>
      <section class='card'>
        <Table
          label='Entries in effect'
          compact
          columns={columns}
          rows={shown}
          id={({ path }) => path}
          empty={
            <Empty icon='settings' title='No entry matches'>
              {origin.value === 'set' ? 'Defaults are hidden: choose “All” to see them.' : ''}
            </Empty>
          }
        />
      </section>
    </>
  )
}
