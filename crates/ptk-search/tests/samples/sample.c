#include <stdio.h>

#define SQUARE(x) ((x) * (x))

/* A point. */
typedef struct {
    int x;
    int y;
} Point;

struct node {
    struct node *next;
    int value;
};

static const char *names[] = {
    "one",
    "two",
};

int add(int a, int b);

#ifdef DEBUG
/* Prints a point. */
static void print_point(const Point *p)
{
    printf("%d %d\n", p->x, p->y);
}
#endif

char *name_of(int number)
{
    return (char *)names[number];
}
