/*
 * Days of the Gregorian calendar, years 0001 to 9999.
 *
 * In: dates as [year, month, day] or as their spelling.  Out: numbers of days, dates, parts of them.
 * Invariant: nothing here knows of clocks or time zones.
 * Example: `dayNumber(2000, 3, 1) - dayNumber(2000, 2, 28)` is 2.
 */

const DATE_SPELLING = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/;
const TIME_SPELLING = /^([0-9]{4}-[0-9]{2}-[0-9]{2})T([01][0-9]|2[0-3])(:[0-5][0-9]){2}\.[0-9]{6}Z$/;

function isLeapYear(year) {
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
}

function daysOfMonth(year, month) {
  if (month === 2) {
    return isLeapYear(year) ? 29 : 28;
  }
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

function isDate(text) {
  const found = DATE_SPELLING.exec(text);
  if (found === null) {
    return false;
  }
  const [year, month, day] = found.slice(1).map(Number);
  return year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= daysOfMonth(year, month);
}

function isTimestamp(text) {
  const found = TIME_SPELLING.exec(text);
  return found !== null && isDate(found[1]);
}

/** Return [year, month, day] of a date or a timestamp. */
function partsOfDate(text) {
  return [Number(text.slice(0, 4)), Number(text.slice(5, 7)), Number(text.slice(8, 10))];
}

/** Return the number of a day; that of 0001-01-01 is 1. */
function dayNumber(year, month, day) {
  const before = year - 1;
  let days = 365 * before + Math.floor(before / 4) - Math.floor(before / 100);
  days += Math.floor(before / 400) + day;
  for (let earlier = 1; earlier < month; earlier += 1) {
    days += daysOfMonth(year, earlier);
  }
  return days;
}

const LAST_DAY = dayNumber(9999, 12, 31);

/** Return the spelling of the day of a number from 1 to that of 9999-12-31. */
function dateOfDay(number) {
  // A first guess that is never late, as no year is longer than 366 days.
  let year = Math.max(1, Math.floor(number / 366));
  while (year < 9999 && dayNumber(year + 1, 1, 1) <= number) {
    year += 1;
  }
  let month = 1;
  while (month < 12 && dayNumber(year, month + 1, 1) <= number) {
    month += 1;
  }
  const day = number - dayNumber(year, month, 1) + 1;
  const padded = (value, width) => String(value).padStart(width, "0");
  return `${padded(year, 4)}-${padded(month, 2)}-${padded(day, 2)}`;
}

function daysBetween(first, second) {
  return dayNumber(...partsOfDate(second)) - dayNumber(...partsOfDate(first));
}

/** Return whole years; where the month and day of 29 February are compared, 1 March is next. */
function yearsBetween(first, second) {
  if (second < first) {
    return -yearsBetween(second, first);
  }
  const years = Number(second.slice(0, 4)) - Number(first.slice(0, 4));
  return second.slice(5) < first.slice(5) ? years - 1 : years;
}

function addDays(date, days) {
  if (absolute(days) > 4000000n) {
    return ERROR;
  }
  const number = dayNumber(...partsOfDate(date)) + Number(days);
  return number < 1 || number > LAST_DAY ? ERROR : dateOfDay(number);
}
