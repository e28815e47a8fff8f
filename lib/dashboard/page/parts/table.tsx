/**
 * A table: columns define how a row is shown; rows may open something. If it is wider than the available
 * space, each row becomes a card, so nothing is hidden at the side.
 */

import type { ComponentChildren, JSX } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { navigate } from '../state/router.ts'
import { SkeletonRows } from './skeleton.tsx'

export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => ComponentChildren
  /** Numbers are right-aligned, with digits of equal width. */
  readonly number?: boolean
  /** Holds buttons: narrow, at the end, with a title for screen readers only. */
  readonly actions?: boolean
  /** Takes the room that other columns leave. Its texts are cut there, so they are a `Clip`. */
  readonly flexible?: boolean
}

export interface TableProps<Row> {
  /** Names the table for screen readers. */
  readonly label: string
  readonly columns: ReadonlyArray<Column<Row>>
  /** Absent while they load. */
  readonly rows: readonly Row[] | undefined
  readonly id: (row: Row) => string
  /** The address of a row; a link in the row has it as well. */
  readonly place?: (row: Row) => string | undefined
  /** What a row opens on this page; a button in the row opens it as well. */
  readonly onOpen?: (row: Row) => void
  /** Shown instead of the table if there are no rows. */
  readonly empty: ComponentChildren
  readonly compact?: boolean
  /** True while newer rows load. */
  readonly stale?: boolean
}

export function Table<Row> ({
  label,
  columns,
  rows,
  id,
  place: placeOf = () => undefined,
  onOpen,
  empty,
  compact = false,
  stale = false
}: TableProps<Row>): JSX.Element {
  const place = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const element = place.current
    if (element === null) return
    fit(element)
    const observer = new ResizeObserver(() => fit(element))
    observer.observe(element)
    return () => observer.disconnect()
  }, [rows, columns.length])
  const opening = (row: Row): (() => void) | undefined => {
    const lead = placeOf(row)
    return lead !== undefined ? () => navigate(lead) : onOpen && (() => onOpen(row))
  }
  if (rows?.length === 0) return <>{empty}</>
  // The roles are those of the elements, which browsers forget when a table is drawn as cards.
  return (
    <div class='table-place' ref={place}>
      <table
        role='table'
        class={`table${compact ? ' compact' : ''}${stale ? ' stale' : ''}`}
        aria-label={label}
        aria-busy={rows === undefined}
        style={{ '--flexible': `${flexiblePercent / columns.filter(({ flexible }) => flexible).length}%` }}
      >
        <thead role='rowgroup'>
          <tr role='row'>
            {columns.map(column => (
              <th key={column.title} role='columnheader' scope='col' class={classOf(column)}>
                {column.actions === true ? (
                  <span class='visually-hidden'>{column.title}</span>
                ) : (
                  column.title
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role='rowgroup'>
          {rows === undefined ? (
            <SkeletonRows columns={columns.length} />
          ) : (
            rows.map(row => (
              <tr
                key={id(row)}
                role='row'
                class={opening(row) && 'open'}
                onClick={event => openRow(event, opening(row))}
              >
                {columns.map(column => (
                  <td key={column.title} role='cell' class={classOf(column)} data-title={column.title}>
                    <div>{column.cell(row)}</div>
                  </td>
                ))}
              </tr>
            ))
          )}
        </tbody>
      </table>
    </div>
  )
}

/** The share of a table that its flexible columns have together. */
const flexiblePercent = 80

/** Draws the rows as cards where the table does not fit. */
function fit (place: HTMLElement): void {
  place.classList.remove('cards')
  place.classList.toggle('cards', (place.firstElementChild?.scrollWidth ?? 0) > place.clientWidth)
}

function classOf ({
  actions,
  number,
  flexible
}: Pick<Column<never>, 'actions' | 'number' | 'flexible'>): string | undefined {
  return actions === true
    ? 'actions'
    : number === true
      ? 'number'
      : flexible === true
        ? 'flexible'
        : undefined
}

/** Leaves clicks on links and buttons of the row, and the end of a selection of text, to what they are. */
function openRow (event: MouseEvent, open: (() => void) | undefined): void {
  const inside =
    event.target instanceof Element &&
    event.target.closest('a, button, input, label, dialog, [popover]') !== null
  if (!inside && getSelection()?.isCollapsed !== false) open?.()
}
