/** A table: columns say how a row is shown; rows may open something. */

import type { ComponentChildren, JSX } from 'preact'
import { SkeletonRows } from './skeleton.tsx'

export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => ComponentChildren
  /** Numbers are aligned at their right, with digits of one width. */
  readonly number?: boolean
  /** Holds buttons: narrow, at the end, its title for screen readers alone. */
  readonly actions?: boolean
}

export interface TableProps<Row> {
  /** Names the table for screen readers. */
  readonly label: string
  readonly columns: ReadonlyArray<Column<Row>>
  /** Absent while they load. */
  readonly rows: readonly Row[] | undefined
  readonly id: (row: Row) => string
  readonly onOpen?: (row: Row) => void
  /** Stands in place of the table when it has no rows. */
  readonly empty: ComponentChildren
  readonly compact?: boolean
  /** True while newer rows load. */
  readonly stale?: boolean
}

export function Table<Row> ({ label, columns, rows, id, onOpen, empty, compact = false, stale = false }: TableProps<Row>): JSX.Element {
  if (rows?.length === 0) return <>{empty}</>
  return (
    <div class='table-scroll' tabIndex={0} role='region' aria-label={label}>
      <table class={`table${compact ? ' compact' : ''}${stale ? ' stale' : ''}`} aria-busy={rows === undefined}>
        <thead>
          <tr>{columns.map(({ title, number, actions }) => (
            <th key={title} scope='col' class={number === true ? 'number' : undefined}>{actions === true ? <span class='visually-hidden'>{title}</span> : title}</th>
          ))}</tr>
        </thead>
        <tbody>
          {rows === undefined
            ? <SkeletonRows columns={columns.length} />
            : rows.map(row => (
              <tr key={id(row)} class={onOpen === undefined ? undefined : 'open'} onClick={event => openRow(event, row, onOpen)}>
                {columns.map(({ title, cell, number, actions }) => (
                  <td key={title} class={actions === true ? 'actions' : number === true ? 'number' : undefined}>{cell(row)}</td>
                ))}
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  )
}

/** Leaves clicks on links and buttons of the row, and the end of a selection of text, to what they are. */
function openRow<Row> (event: MouseEvent, row: Row, onOpen: ((row: Row) => void) | undefined): void {
  const inside = event.target instanceof Element && event.target.closest('a, button, input, label, dialog, [popover]') !== null
  if (!inside && getSelection()?.isCollapsed !== false) onOpen?.(row)
}
