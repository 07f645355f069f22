package org.example;

import java.util.List;

/** A shop. */
@Service
public class Shop implements Place {
    private final List<String> goods;

    /** Opens it. */
    public Shop(List<String> goods) {
        this.goods = goods;
    }

    @Override
    public int size() {
        return goods.size();
    }

    enum Kind {
        BIG,
        SMALL;

        boolean isBig() {
            return this == BIG;
        }
    }
}

interface Place {
    int size();
}
